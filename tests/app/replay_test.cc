// Which updates a replay makes again, and from which groups.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/journal_of_a_run.h"
#include "app/replay_groups.h"
#include "app/inspect/update_history.h"

namespace corisco::app {
namespace {
using testing::ElementsAre;
using testing::HasSubstr;

UpdateHistory history_of(const JournalOfARun& run) {
  UpdateHistory history;
  for (const auto& record : run.records) history.add(record);
  return history;
}

// 1, 2 | saved at 2 | 3, skipped, 4 | resumed from 2 | 3 again, with other weights
JournalOfARun resumed_run() {
  JournalOfARun run;
  run.update(1, {GroupId{1}}, 11);
  run.update(2, {GroupId{2}}, 12);
  run.checkpoint(2, "step-000002");
  run.update(3, {GroupId{3}}, 13);
  run.update(3, {GroupId{4}}, 0, true);
  run.update(4, {GroupId{5}}, 14);
  run.resumed(2);
  run.update(3, {GroupId{3}}, 23);
  return run;
}

TEST(UpdateHistory, FindsTheUpdateInForce) {
  const auto history = history_of(resumed_run());
  const auto third = history.maker_of(PolicyVersion{3}).value();
  EXPECT_EQ(history.updates()[third].record.weights_checksum, 23U);
  EXPECT_EQ(history.checkpoint_of(PolicyVersion{2}), "step-000002");
  EXPECT_EQ(history.checkpoint_of(PolicyVersion{3}), "");
}

TEST(UpdateHistory, RefusesVoidAndUnknownOnesByName) {
  const auto history = history_of(resumed_run());
  EXPECT_EQ(history.maker_of(PolicyVersion{4}).error().code, Code::conflict);
  EXPECT_THAT(history.maker_of(PolicyVersion{4}).error().message, HasSubstr("void"));
  EXPECT_THAT(history.maker_of(PolicyVersion{9}).error().message, HasSubstr("the journal's newest is 3"));
  EXPECT_THAT(history.maker_of(PolicyVersion{0}).error().message, HasSubstr("the initial weights"));
}

TEST(UpdateHistory, CountsSkippedUpdatesSinceTheyMoveTheSchedule) {
  auto run = resumed_run();
  run.records.resize(6);                 // before the resume
  const auto history = history_of(run);
  const auto last = history.maker_of(PolicyVersion{4}).value();
  EXPECT_THAT(history.made_after(2, last), ElementsAre(2, 3, 4));
  EXPECT_THAT(history.made_after(0, last), ElementsAre(0, 1, 2, 3, 4));
  const auto resumed = history_of(resumed_run());
  EXPECT_THAT(resumed.made_after(2, resumed.maker_of(PolicyVersion{3}).value()), ElementsAre(5));
}

TEST(UpdateHistory, AVersionBelowTheLastTellsOfAResumeThatWasNotJournaled) {
  JournalOfARun run;
  for (const std::uint64_t version : {1, 2, 3}) run.update(version, {GroupId{version}}, version);
  run.update(2, {GroupId{9}}, 22);
  const auto history = history_of(run);
  EXPECT_EQ(history.maker_of(PolicyVersion{2}).value(), 3U);
  EXPECT_FALSE(history.maker_of(PolicyVersion{3}).ok());
}

// A group of two, of which the second rollout died with the daemon and was run again after the resume.
JournalOfARun group_over_a_resume() {
  JournalOfARun run;
  run.group(1, 0, 2);
  run.rollout(1, 1, 0, 0);
  run.rollout(2, 1, 0, 1);
  run.call(1, {RolloutId{1}, 1}, 0, {1}, {2});
  run.end(1, 1, 1.0);
  run.delivered(1, {RolloutId{1}, 1});
  run.call(2, {RolloutId{2}, 1}, 0, {1}, {3, 4});
  run.end(2, 1, std::nullopt, Outcome::cancelled);
  run.resumed(0);
  run.attempt(2, 2);
  run.call(3, {RolloutId{2}, 2}, 0, {1}, {5});
  run.delivered(3, {RolloutId{2}, 2});
  run.end(2, 2, 0.0);
  return run;
}

TEST(ReadGroups, GivesThemAsTheTrainerHadThem) {
  const auto groups = read_groups(group_over_a_resume().source(), {GroupId{1}});
  ASSERT_TRUE(groups.ok()) << groups.error().message;
  const auto& rollouts = groups.value().at(GroupId{1})->rollouts;
  ASSERT_EQ(rollouts.size(), 2U);
  EXPECT_TRUE(rollouts[0].calls.at(0).is_delivered);
  EXPECT_EQ(rollouts[1].attempt, 2U);
  ASSERT_EQ(rollouts[1].calls.size(), 1U);
  EXPECT_EQ(rollouts[1].calls[0].tokens.at(0).id, 5);
}

TEST(ReadGroups, RefusesGroupsThatAreNotWholeOrWereRemoved) {
  auto run = group_over_a_resume();
  std::get<samples::CallRecorded>(run.records[5]).removed_tokens = 1;
  EXPECT_THAT(read_groups(run.source(), {GroupId{1}}).error().message, HasSubstr("retention_days"));
  run.records.pop_back();
  EXPECT_THAT(read_groups(run.source(), {GroupId{1}}).error().message, HasSubstr("not whole"));
  EXPECT_TRUE(read_groups(run.source(), {}).ok());
}
}  // namespace
}  // namespace corisco::app
