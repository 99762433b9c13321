#include "app/resumed_groups.h"

#include <gtest/gtest.h>

namespace corisco::app {
namespace {
// A rollout with one call of one token, sampled from the weights of this version.
FinishedRollout sampled_at(std::uint64_t version) {
  FinishedRollout rollout;
  Call call;
  call.tokens.emplace_back();
  call.tokens.back().policy_version = PolicyVersion{version};
  rollout.calls.push_back(std::move(call));
  return rollout;
}

Group whole(std::uint64_t occurrence, std::uint64_t opened_at, std::uint64_t sampled) {
  return {GroupId{occurrence + 100}, occurrence, PolicyVersion{opened_at},
          {sampled_at(opened_at), sampled_at(sampled)}};
}

samples::UpdatePublished update(std::uint64_t version, std::uint64_t checksum) {
  samples::UpdatePublished made;
  made.policy_version = PolicyVersion{version};
  made.weights_checksum = checksum;
  return made;
}

UpdateReport report(std::uint64_t version, std::uint64_t checksum) {
  UpdateReport made;
  made.policy_version = PolicyVersion{version};
  made.weights_checksum = checksum;
  return made;
}

bool is_whole(const ResumedGroups::Left& left) { return std::holds_alternative<Group>(left); }
bool is_nothing(const ResumedGroups::Left& left) { return std::holds_alternative<std::monostate>(left); }

// A checkpoint of version 2; versions 3 and 4 were lost, and tasks 4 and 5 were sampled from 2, task 6 from 3.
samples::Recovered synchronous() {
  samples::Recovered found;
  found.ready = {whole(4, 2, 2), whole(6, 3, 3)};
  samples::UnfinishedGroup open;
  open.id = GroupId{105};
  open.task_occurrence = 5;
  open.num_siblings = 2;
  open.opened_at = PolicyVersion{2};
  open.finished = {sampled_at(2)};
  found.unfinished = {open};
  found.lost_updates = {update(3, 33), update(4, 44)};
  return found;
}

TEST(ResumedGroups, GoesOnWithWhatTheCheckpointsWeightsSampled) {
  auto found = synchronous();
  ResumedGroups groups(found, PolicyVersion{2});
  EXPECT_EQ(groups.occurrences(), (std::vector<std::uint64_t>{4, 5, 6}));
  EXPECT_EQ(groups.num_finished_rollouts(), 1U);
  const auto first = groups.take(4, PolicyVersion{2}, PolicyVersion{2});
  ASSERT_TRUE(is_whole(first));
  EXPECT_EQ(std::get<Group>(first).id, GroupId{104});
  const auto second = groups.take(5, PolicyVersion{2}, PolicyVersion{2});
  ASSERT_TRUE(std::holds_alternative<samples::UnfinishedGroup>(second));
  EXPECT_TRUE(is_nothing(groups.take(4, PolicyVersion{2}, PolicyVersion{2})));
  EXPECT_TRUE(is_nothing(groups.take(9, PolicyVersion{2}, PolicyVersion{2})));
}

TEST(ResumedGroups, WhatLostWeightsSampledIsTrainedOnceTheseAreMadeAgain) {
  for (const std::uint64_t checksum : {33U, 34U, 0U}) {
    auto found = synchronous();
    ResumedGroups groups(found, PolicyVersion{2});
    groups.update_made(report(3, checksum));
    EXPECT_EQ(is_whole(groups.take(6, PolicyVersion{3}, PolicyVersion{3})), checksum == 33) << checksum;
  }
}

TEST(ResumedGroups, TheWeightsOfEveryEarlierLifeMustBeTheSame) {
  auto found = synchronous();
  found.void_updates = {update(3, 34)};
  ResumedGroups groups(found, PolicyVersion{2});
  groups.update_made(report(3, 33));
  EXPECT_TRUE(is_nothing(groups.take(6, PolicyVersion{3}, PolicyVersion{3})));
}

TEST(ResumedGroups, ASkippedUpdateMakesNoWeights) {
  auto found = synchronous();
  ResumedGroups groups(found, PolicyVersion{2});
  auto skipped = report(3, 33);
  skipped.was_skipped = true;
  groups.update_made(skipped);
  EXPECT_TRUE(is_nothing(groups.take(6, PolicyVersion{3}, PolicyVersion{3})));
}

// An asynchronous run: update 3 consumed task 5, a skipped one task 7, update 4 task 4, while 6 went on.
samples::Recovered asynchronous() {
  samples::Recovered found;
  found.ready = {whole(5, 2, 2), whole(7, 2, 3), whole(4, 2, 3), whole(6, 3, 4)};
  auto third = update(3, 33), skipped = update(3, 0), fourth = update(4, 44);
  third.groups = {GroupId{105}};
  skipped.groups = {GroupId{107}};
  skipped.was_skipped = true;
  fourth.groups = {GroupId{104}};
  found.lost_updates = {third, skipped, fourth};
  return found;
}

std::vector<std::uint64_t> for_now(const ResumedGroups& groups) {
  std::vector<std::uint64_t> tasks;
  for (const auto task : groups.occurrences())
    if (!groups.is_for_later(task)) tasks.push_back(task);
  return tasks;
}
using Tasks = std::vector<std::uint64_t>;

TEST(ResumedGroups, LostUpdatesAreMadeAgainOneByOneEachFromItsOwnGroups) {
  auto found = asynchronous();
  ResumedGroups groups(found, PolicyVersion{2});
  EXPECT_EQ(for_now(groups), Tasks{5});
  EXPECT_TRUE(is_whole(groups.take(5, PolicyVersion{2}, PolicyVersion{1})));
  groups.update_made(report(3, 33));
  EXPECT_EQ(for_now(groups), Tasks{7});
  EXPECT_TRUE(is_whole(groups.take(7, PolicyVersion{3}, PolicyVersion{2})));
  auto skipped = report(3, 0);
  skipped.was_skipped = true;
  groups.update_made(skipped);
  EXPECT_EQ(for_now(groups), Tasks{4});
  EXPECT_TRUE(is_whole(groups.take(4, PolicyVersion{3}, PolicyVersion{2})));
  groups.update_made(report(4, 44));
  EXPECT_EQ(for_now(groups), Tasks{6});
  EXPECT_TRUE(is_whole(groups.take(6, PolicyVersion{4}, PolicyVersion{3})));
}

TEST(ResumedGroups, NothingWaitsForAnUpdateThatCannotBeMadeAgain) {
  for (const std::uint64_t checksum : {34U, 0U}) {
    auto found = asynchronous();
    ResumedGroups groups(found, PolicyVersion{2});
    groups.update_made(report(3, checksum));
    EXPECT_EQ(for_now(groups), (Tasks{4, 5, 6, 7})) << checksum;
  }
  auto found = asynchronous();
  ResumedGroups groups(found, PolicyVersion{2});
  auto skipped = report(2, 0);           // then it was made
  skipped.was_skipped = true;
  groups.update_made(skipped);
  EXPECT_EQ(for_now(groups), (Tasks{4, 5, 6, 7}));
}

TEST(ResumedGroups, AGroupThatIsTooOldOrFromLaterWeightsIsRunAgain) {
  auto found = synchronous();
  ResumedGroups groups(found, PolicyVersion{2});
  EXPECT_TRUE(is_nothing(groups.take(6, PolicyVersion{2}, PolicyVersion{2})));   // sampled from 3, not there yet
  EXPECT_TRUE(is_nothing(groups.take(4, PolicyVersion{4}, PolicyVersion{3})));   // opened at 2
}
}  // namespace
}  // namespace corisco::app
