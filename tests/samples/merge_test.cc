// Rows worked out by hand; the first test is the picture above Sample in types/sample.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "samples/merged_rows.h"

namespace corisco::samples {
namespace {
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

std::vector<std::uint64_t> versions_of(const Sample& row) {
  std::vector<std::uint64_t> versions;
  for (const auto version : row.policy_versions) versions.push_back(version.value);
  return versions;
}

TEST(Merge, TrajectoryOfTheWorkedExample) {
  MergeReport report;
  const auto rows = rows_of(worked_example(), MergeLevel::trajectory, report);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_THAT(rows[0].token_ids, ElementsAre(1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(rows[0].loss_mask, ElementsAre(0, 0, 1, 1, 0, 1, 1));
  EXPECT_THAT(rows[0].sampled_logprobs, ElementsAre(0, 0, -0.5F, -0.625F, 0, -1.5F, -1.625F));
  EXPECT_THAT(versions_of(rows[0]), ElementsAre(0, 0, 5, 5, 0, 6, 6));
  EXPECT_THAT(rows[0].call_index, ElementsAre(-1, -1, 0, 0, -1, 1, 1));
  EXPECT_EQ(rows[0].first_turn, 0U);
  EXPECT_EQ(rows[0].branch, 0U);
  EXPECT_EQ(rows[0].rollout, RolloutId{1});
  EXPECT_THAT(rows[1].token_ids, ElementsAre(8, 9));
  EXPECT_THAT(rows[1].loss_mask, ElementsAre(0, 1));
  EXPECT_EQ(rows[1].first_turn, 2U);
  EXPECT_EQ(rows[1].branch, 1U);

  EXPECT_EQ(report.num_calls, 3U);
  EXPECT_EQ(report.num_rows, 2U);
  EXPECT_EQ(report.num_trained_tokens, 5U);
  EXPECT_THAT(report.splits, ElementsAre(Pair(SplitCause::prefix_changed, 1U)));
}

// One expert a token. 4, the first reply's last token, was first fed by the call that goes on from it; what
// that call says of 1 2 3 is of a later pass.
TEST(Merge, ATokensExpertsAreThoseOfTheCallThatFirstFedIt) {
  MergeReport report;
  auto rollout = worked_example();
  rollout.calls[0].routed_experts = {10, 20, 30};
  rollout.calls[1].routed_experts = {11, 21, 31, 41, 51, 61};
  auto rows = rows_of(rollout, MergeLevel::trajectory, report);
  EXPECT_THAT(rows[0].routed_experts, ElementsAre(10, 20, 30, 41, 51, 61));
  EXPECT_THAT(rows[1].routed_experts, IsEmpty());
  rows = rows_of(rollout, MergeLevel::transition, report);
  EXPECT_THAT(rows[0].routed_experts, ElementsAre(10, 20, 30));
  EXPECT_THAT(rows[1].routed_experts, ElementsAre(11, 21, 31, 41, 51, 61));
  rollout.calls[1].routed_experts = {};   // then not of every token
  EXPECT_THAT(rows_of(rollout, MergeLevel::trajectory, report)[0].routed_experts, IsEmpty());
  rollout.calls[0].routed_experts = {};
  rollout.calls[1].routed_experts = {11, 21, 31, 41, 51, 61};
  EXPECT_THAT(rows_of(rollout, MergeLevel::trajectory, report)[0].routed_experts, ElementsAre(11, 21, 31, 41, 51, 61));
}

TEST(Merge, TransitionIsARowPerCall) {
  MergeReport report;
  const auto rows = rows_of(worked_example(), MergeLevel::transition, report);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_THAT(rows[1].token_ids, ElementsAre(1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(rows[1].loss_mask, ElementsAre(0, 0, 0, 0, 0, 1, 1));
  EXPECT_THAT(rows[1].call_index, ElementsAre(-1, -1, -1, -1, -1, 1, 1));
  EXPECT_EQ(rows[1].first_turn, 1U);
  EXPECT_THAT(report.splits, IsEmpty());
}

// Two sub-agents take turns; each goes on from its own branch.
TEST(Merge, InterleavedBranchesEachContinueTheirOwn) {
  MergeReport report;
  const auto rows = rows_of(make_rollout({make_call(0, {1}, {2}), make_call(1, {10}, {11}),
                                          make_call(2, {1, 2, 3}, {4}), make_call(3, {10, 11, 12}, {13})}),
                            MergeLevel::trajectory, report);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_THAT(rows[0].token_ids, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(rows[1].token_ids, ElementsAre(10, 11, 12, 13));
  EXPECT_THAT(rows[1].call_index, ElementsAre(-1, 1, -1, 3));
  EXPECT_THAT(report.splits, ElementsAre(Pair(SplitCause::prefix_changed, 1U)));
}

TEST(Merge, TheLongestBranchWins) {
  MergeReport report;
  const auto rows = rows_of(make_rollout({make_call(0, {1}, {2}), make_call(1, {1, 2, 3}, {4}),
                                          make_call(2, {1}, {2}), make_call(3, {1, 2, 3, 4, 5}, {6})}),
                            MergeLevel::trajectory, report);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_THAT(rows[0].token_ids, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(rows[1].token_ids, ElementsAre(1, 2));
}

// Turns 1 and 2 both extend turn 0: the first goes on in its row, the second has turn 0 as context.
TEST(Merge, ASecondContinuationForks) {
  MergeReport report;
  const auto rows = rows_of(
      make_rollout({make_call(0, {1}, {2}), make_call(1, {1, 2, 3}, {4}), make_call(2, {1, 2, 5}, {6})}),
      MergeLevel::trajectory, report);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_THAT(rows[0].loss_mask, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(rows[1].token_ids, ElementsAre(1, 2, 5, 6));
  EXPECT_THAT(rows[1].loss_mask, ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(report.splits, ElementsAre(Pair(SplitCause::forked, 1U)));
}

TEST(Merge, ChoicesOfOnePromptAreRowsOfTheirOwn) {
  MergeReport report;
  const auto rows = rows_of(make_rollout({make_call(0, {1}, {2}, 5, 0), make_call(0, {1}, {3}, 5, 1),
                                          make_call(1, {1, 3, 4}, {5})}),
                            MergeLevel::trajectory, report);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_THAT(rows[0].token_ids, ElementsAre(1, 2));
  EXPECT_THAT(rows[1].token_ids, ElementsAre(1, 3, 4, 5));
  EXPECT_THAT(report.splits, IsEmpty());  // choices are no split, and the second turn continued one
}

TEST(Merge, WhatTheHarnessEncodedAgainIsASplit) {
  MergeReport report;
  const auto rows = rows_of(make_rollout({make_call(0, {1}, {20, 21}), make_call(1, {1, 22, 23}, {4})}),
                            MergeLevel::trajectory, report);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_THAT(rows[0].token_ids, ElementsAre(1, 20, 21));  // what was sampled
  EXPECT_THAT(rows[1].loss_mask, ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(report.splits, ElementsAre(Pair(SplitCause::prefix_changed, 1U)));
}

TEST(Merge, OtherTemperaturesDoNotShareARow) {
  MergeReport report;
  auto warm = make_call(1, {1, 2, 3}, {4});
  warm.temperature = 0.5F;
  const auto rows = rows_of(make_rollout({make_call(0, {1}, {2}), warm}), MergeLevel::trajectory, report);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].temperature, 1.0F);
  EXPECT_EQ(rows[1].temperature, 0.5F);
  EXPECT_THAT(report.splits, ElementsAre(Pair(SplitCause::temperature_changed, 1U)));
}

TEST(Merge, UndeliveredAndUntrainableTokensAreContextAndCounted) {
  auto lost = make_call(1, {1, 2, 3}, {4, 5});
  lost.is_delivered = false;
  auto greedy = make_call(2, {1, 2, 3}, {6, 7, 8});
  greedy.is_trainable = greedy.is_delivered = false;  // counted once, as untrainable
  const auto last = make_call(3, {1, 2, 3, 6, 7, 8, 9}, {10});
  MergeReport report;
  const auto rows =
      rows_of(make_rollout({make_call(0, {1}, {2}), lost, greedy, last}), MergeLevel::trajectory, report);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_THAT(rows[0].token_ids, ElementsAre(1, 2, 3, 6, 7, 8, 9, 10));
  EXPECT_THAT(rows[0].loss_mask, ElementsAre(0, 1, 0, 0, 0, 0, 0, 1));
  EXPECT_THAT(rows[0].call_index, ElementsAre(-1, 0, -1, -1, -1, -1, -1, 3));
  EXPECT_EQ(report.untrained(UntrainedReason::undelivered), 2U);
  EXPECT_EQ(report.untrained(UntrainedReason::untrainable), 3U);
  EXPECT_EQ(report.num_trained_tokens, 2U);
  EXPECT_THAT(report.splits, IsEmpty());
}

TEST(Merge, ARolloutThatTheMachineEndedTrainsNothing) {
  auto rollout = worked_example();
  rollout.outcome = Outcome::engine_failed;
  MergeReport report;
  EXPECT_THAT(rows_of(rollout, MergeLevel::trajectory, report), IsEmpty());
  EXPECT_EQ(report.untrained(UntrainedReason::infrastructure), 5U);
}

TEST(Merge, EmptyRepliesAndNoCallsMakeNoRow) {
  MergeReport report;
  EXPECT_THAT(rows_of(make_rollout({}), MergeLevel::trajectory, report), IsEmpty());
  const auto rows =
      rows_of(make_rollout({make_call(0, {1}, {}), make_call(1, {1, 2}, {3})}), MergeLevel::trajectory, report);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_THAT(rows[0].token_ids, ElementsAre(1, 2, 3));
}
}  // namespace
}  // namespace corisco::samples
