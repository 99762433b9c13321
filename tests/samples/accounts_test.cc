// Where every sampled token went, by hand: reasons, causes of splits, limits.
#include "corisco/samples/accounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "samples/merged_rows.h"

namespace corisco::samples {
namespace {
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// The picture above CallAccount in samples/accounts.h.
TEST(Accounts, OfTheWorkedExample) {
  auto rollout = worked_example();
  rollout.calls[2].split = SplitCause::history_dropped;
  const auto accounts = merge(rollout, MergeLevel::trajectory).accounts;
  ASSERT_EQ(accounts.size(), 3U);
  EXPECT_EQ(accounts[0].call, rollout.calls[0].id);
  std::vector<std::int32_t> branches;
  std::vector<std::uint32_t> begins;
  std::vector<SplitCause> splits;
  for (const auto& account : accounts) {
    branches.push_back(account.branch);
    begins.push_back(account.row_begin);
    splits.push_back(account.split);
    EXPECT_EQ(account.reason, UntrainedReason::none);
  }
  EXPECT_THAT(branches, ElementsAre(0, 0, 1));
  EXPECT_THAT(begins, ElementsAre(2U, 5U, 1U));
  EXPECT_THAT(splits, ElementsAre(SplitCause::first, SplitCause::none, SplitCause::history_dropped));
}

TEST(Accounts, TheCauseThatTheGatewaySawIsTheOneCounted) {
  auto other_system = make_call(1, {7, 2}, {4});
  other_system.split = SplitCause::system_changed;
  auto goes_on_all_the_same = make_call(2, {1, 2, 3}, {5});   // by its tokens; then nothing is split
  goes_on_all_the_same.split = SplitCause::reply_changed;
  MergeReport report;
  rows_of(make_rollout({make_call(0, {1}, {2}), other_system, goes_on_all_the_same}), MergeLevel::trajectory, report);
  EXPECT_THAT(report.splits, ElementsAre(Pair(SplitCause::system_changed, 1U)));
}

// The first call of a compacted conversation is lost; the one that goes on from it begins the row.
TEST(Accounts, AnUntrainedCallHandsOnWhyItLeftItsBranch) {
  auto lost = make_call(1, {8}, {9});
  lost.split = SplitCause::history_dropped;
  lost.is_delivered = false;
  MergeReport report;
  rows_of(make_rollout({make_call(0, {1}, {2}), lost, make_call(2, {8, 9, 10}, {11})}), MergeLevel::trajectory, report);
  EXPECT_THAT(report.splits, ElementsAre(Pair(SplitCause::history_dropped, 1U)));
}

TEST(Accounts, EachTokenIsCountedOnceForTheFirstReasonThatHolds) {
  std::vector<Call> calls{make_call(0, {1}, {2})};
  const auto add = [&](std::size_t num_tokens) -> Call& {
    const auto turn = static_cast<std::uint32_t>(calls.size());
    return calls.emplace_back(make_call(turn, {1}, std::vector<TokenId>(num_tokens, 3)));
  };
  add(2).state = CallState::side;
  add(3).is_trainable = false;
  add(4).state = CallState::superseded;
  calls.back().is_delivered = false;
  add(5).state = CallState::aborted;
  add(6).finish = FinishReason::aborted;   // a stream that broke; a later request held what had arrived of it
  add(7).is_delivered = false;
  add(8).prompt_ids = SharedPrefix<TokenId>();
  add(9).state = CallState::frozen;
  add(10).state = CallState::several_models;
  MergeReport report;
  const auto rows = rows_of(make_rollout(calls), MergeLevel::trajectory, report);
  EXPECT_EQ(rows.size(), 1U);
  EXPECT_EQ(report.num_sampled_tokens, 55U);
  EXPECT_EQ(report.num_trained_tokens, 1U);
  EXPECT_THAT(report.num_untrained_tokens, ElementsAre(0, 0, 2, 9, 10, 3 + 8, 4, 5 + 6, 7, 0, 0, 0));
  EXPECT_TRUE(report.balances());
  EXPECT_DOUBLE_EQ(report.undelivered_share(), (4 + 5 + 6 + 7) / 55.0);
  EXPECT_EQ(report.num_rollouts_one_row, 1U);
}

// What a frozen name said is none of the policy's conversation, even if its tokens are the same.
TEST(Accounts, AFrozenReplyIsNoPlaceToGoOnFrom) {
  auto frozen = make_call(0, {1}, {2});
  frozen.state = CallState::frozen;
  auto first = make_call(1, {1, 2, 3}, {4});
  first.split = SplitCause::first;
  MergeReport report;
  const auto rollout = make_rollout({frozen, first, make_call(2, {1, 2, 3, 4, 5}, {6})});
  const auto rows = rows_of(rollout, MergeLevel::trajectory, report);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].first_turn, 1U);
  EXPECT_EQ(rows[0].loss_mask, (std::vector<std::uint8_t>{0, 0, 0, 1, 0, 1}));
  EXPECT_TRUE(report.splits.empty());
}

TEST(Accounts, ATokenInNoPlaceDoesNotBalance) {
  MergeReport report;
  report.num_sampled_tokens = 3;
  report.num_trained_tokens = 2;
  EXPECT_FALSE(report.balances());
  report.num_untrained_tokens[static_cast<std::size_t>(UntrainedReason::side)] = 1;
  EXPECT_TRUE(report.balances());
  report.num_untrained_tokens[static_cast<std::size_t>(UntrainedReason::none)] = 1;
  EXPECT_FALSE(report.balances());
}

TEST(Accounts, ARolloutWithoutARewardIsOutOfTheLoss) {
  auto rollout = worked_example();
  rollout.reward.reset();
  MergeReport report;
  EXPECT_THAT(rows_of(rollout, MergeLevel::trajectory, report), IsEmpty());
  EXPECT_EQ(report.untrained(UntrainedReason::infrastructure), 5U);
  EXPECT_EQ(report.num_rollouts_no_row, 1U);
}

// One conversation: prompts of 2, 5 and 9 tokens, replies of 2, 3 and 1.
FinishedRollout one_conversation() {
  return make_rollout({make_call(0, {1, 2}, {3, 4}), make_call(1, {1, 2, 3, 4, 5}, {6, 7, 8}),
                       make_call(2, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {10})});
}

TEST(MergeLimits, LongerPromptsAndRepliesAreNotTrainedButStayContext) {
  MergeReport report;
  auto rows = rows_of(one_conversation(), MergeLevel::trajectory, report, {.reply_tokens_max = 2});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_THAT(rows[0].token_ids, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
  EXPECT_THAT(rows[0].loss_mask, ElementsAre(0, 0, 1, 1, 0, 0, 0, 0, 0, 1));
  EXPECT_EQ(report.untrained(UntrainedReason::reply_too_long), 3U);
  rows = rows_of(one_conversation(), MergeLevel::trajectory, report, {.prompt_tokens_max = 5});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_THAT(rows[0].token_ids, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(report.untrained(UntrainedReason::prompt_too_long), 1U);
}

TEST(MergeLimits, ABranchEndsWithItsLastCallThatFits) {
  for (const std::uint32_t row_tokens_max : {8U, 9U}) {   // 10 would hold all three
    MergeReport report;
    const auto rows =
        rows_of(one_conversation(), MergeLevel::trajectory, report, {.row_tokens_max = row_tokens_max});
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].token_ids.size(), 8U);
    EXPECT_THAT(rows[0].loss_mask, ElementsAre(0, 0, 1, 1, 0, 1, 1, 1));
    EXPECT_EQ(report.untrained(UntrainedReason::row_full), 1U);
    EXPECT_TRUE(report.balances());
  }
}

TEST(MergeLimits, NothingThatFitsIsNoRow) {
  MergeReport report;
  EXPECT_THAT(rows_of(one_conversation(), MergeLevel::transition, report, {.row_tokens_max = 3}), IsEmpty());
  EXPECT_EQ(report.untrained(UntrainedReason::row_full), 6U);
}
}  // namespace
}  // namespace corisco::samples
