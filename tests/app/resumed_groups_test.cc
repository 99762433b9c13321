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

TEST(ResumedGroups, AGroupThatIsTooOldOrFromLaterWeightsIsRunAgain) {
  auto found = synchronous();
  ResumedGroups groups(found, PolicyVersion{2});
  EXPECT_TRUE(is_nothing(groups.take(6, PolicyVersion{2}, PolicyVersion{2})));   // sampled from 3, not there yet
  EXPECT_TRUE(is_nothing(groups.take(4, PolicyVersion{4}, PolicyVersion{3})));   // opened at 2
}
}  // namespace
}  // namespace corisco::app
