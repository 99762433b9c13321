// The scheduler by hand: who is computed when, within the budget, and who pays when blocks end.
#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "corisco/base/strings.h"

namespace corisco::engine {
namespace {
using Ids = std::vector<TokenId>;

Ids prompt(std::size_t size, TokenId first) {
  Ids ids(size);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

// "1:0+4* 2:0+2": request 1 computes tokens 0..3 and draws, request 2 tokens 0 and 1.
std::string text(const ScheduledStep& step) {
  std::string out;
  for (const auto& row : step.rows)
    out += cat(out.empty() ? "" : " ", row.sequence->id, ":", row.first, "+", row.num_tokens,
               row.draws ? "*" : "");
  return out;
}

// One step in which every draw is this token and nothing ends.
std::string advance(Scheduler& scheduler, TokenId id = 99) {
  const auto step = scheduler.schedule();
  std::vector<Draw> draws;
  for (const auto& row : step.rows)
    if (row.draws) draws.push_back({id, false});
  const std::string shown = text(step);
  scheduler.update(step, draws);
  return shown;
}

TEST(Scheduler, DecodesFirstAndFillsTheBudgetWithPromptChunks) {
  BlockPool pool(64, 4);
  Scheduler scheduler({.sequences_max = 8, .step_tokens_max = 6, .share_prefixes = false}, pool);
  scheduler.add({1}, 0, prompt(3, 10));
  EXPECT_EQ(advance(scheduler), "1:0+3*");
  scheduler.add({2}, 0, prompt(8, 20));
  scheduler.add({3}, 0, prompt(4, 30));
  EXPECT_EQ(advance(scheduler), "1:3+1* 2:0+5");
  EXPECT_EQ(advance(scheduler), "1:4+1* 2:5+3* 3:0+2");
  EXPECT_EQ(advance(scheduler), "1:5+1* 2:8+1* 3:2+2*");
}

// Request 2 and 3 are one rollout's: its second call comes after the other rollout's first.
TEST(Scheduler, AdmitsOneOfEachRolloutTheOldestFirstAndThenTheOthers) {
  BlockPool pool(64, 4);
  Scheduler scheduler({.sequences_max = 2, .step_tokens_max = 100, .share_prefixes = false}, pool);
  scheduler.add({1}, 7, prompt(2, 10));
  scheduler.add({2}, 5, prompt(2, 20));
  scheduler.add({3}, 5, prompt(2, 30));
  EXPECT_EQ(advance(scheduler), "2:0+2* 1:0+2*");
  EXPECT_EQ(scheduler.num_waiting(), 1U);
  scheduler.cancel({2});
  EXPECT_EQ(advance(scheduler), "1:2+1* 3:0+2*");
}

// A rollout's three calls run in three places when another rollout asks: its last one gives way, and
// goes on, with its tokens, when a place is free. One that runs a single call never gives it up.
TEST(Scheduler, WhoRunsNothingGetsAPlaceOfWhoRunsTheMost) {
  BlockPool pool(64, 4);
  Scheduler scheduler({.sequences_max = 3, .step_tokens_max = 100, .share_prefixes = false}, pool);
  for (std::uint64_t id = 1; id <= 4; ++id) scheduler.add({id}, 5, prompt(2, 10));
  EXPECT_EQ(advance(scheduler), "1:0+2* 2:0+2* 3:0+2*");
  scheduler.add({8}, 9, prompt(3, 80));
  EXPECT_EQ(advance(scheduler), "1:2+1* 2:2+1* 8:0+3*");
  EXPECT_EQ(scheduler.counts().num_preempted, 1U);
  scheduler.add({7}, 7, prompt(3, 70));
  EXPECT_EQ(advance(scheduler), "1:3+1* 8:3+1* 7:0+3*");
  scheduler.add({6}, 1, prompt(3, 60));       // the oldest, but nobody runs two
  EXPECT_EQ(advance(scheduler), "1:4+1* 7:3+1* 8:4+1*");
  scheduler.cancel({8});
  EXPECT_EQ(advance(scheduler), "1:5+1* 7:4+1* 6:0+3*");
  scheduler.cancel({7});
  scheduler.cancel({6});
  EXPECT_EQ(advance(scheduler), "1:6+1* 2:0+4* 3:0+3*");   // 2 had drawn two tokens, 3 one
}

// The same for blocks: 8 of 2 tokens, of which three calls of one rollout hold two each. The fourth asks for
// three, beside one for each that runs: two give way.
TEST(Scheduler, WhoRunsNothingGetsTheBlocksOfWhoRunsTheMost) {
  BlockPool pool(8, 2);
  Scheduler scheduler({.sequences_max = 8, .step_tokens_max = 100, .share_prefixes = false}, pool);
  for (std::uint64_t id = 1; id <= 3; ++id) scheduler.add({id}, 5, prompt(2, 10));
  EXPECT_EQ(advance(scheduler), "1:0+2* 2:0+2* 3:0+2*");
  scheduler.add({8}, 9, prompt(5, 80));
  EXPECT_EQ(advance(scheduler), "1:2+1* 8:0+5*");
  EXPECT_EQ(scheduler.counts().num_preempted, 2U);
}

// Six tokens a step, prompts of four: the newer rollout's prompt comes before the older one's second.
TEST(Scheduler, PromptsShareTheTokensOfAStepByTurns) {
  BlockPool pool(64, 4);
  Scheduler scheduler({.sequences_max = 8, .step_tokens_max = 6, .share_prefixes = false}, pool);
  for (std::uint64_t id = 1; id <= 3; ++id) scheduler.add({id}, 5, prompt(4, 10));
  scheduler.add({8}, 9, prompt(4, 80));
  EXPECT_EQ(advance(scheduler), "1:0+4* 8:0+2");
  EXPECT_EQ(advance(scheduler), "1:4+1* 8:2+2* 2:0+3");
  // A prompt's last token is like one that was drawn: it goes with the others, in the queue order.
  EXPECT_EQ(advance(scheduler), "1:5+1* 2:3+1* 8:4+1* 3:0+3");
}

TEST(Scheduler, RunsNoMoreSequencesThanAStepHasTokens) {
  BlockPool pool(64, 4);
  Scheduler scheduler({.sequences_max = 8, .step_tokens_max = 2, .share_prefixes = false}, pool);
  for (std::uint64_t id = 1; id <= 3; ++id) scheduler.add({id}, id, prompt(1, 10));
  EXPECT_EQ(advance(scheduler), "1:0+1* 2:0+1*");
  EXPECT_EQ(advance(scheduler), "1:1+1* 2:1+1*");
}

TEST(Scheduler, AdmitsOnlyWithBlocksForThePromptAndOneTokenMore) {
  BlockPool pool(4, 2);
  Scheduler scheduler({.sequences_max = 8, .step_tokens_max = 100, .share_prefixes = false}, pool);
  scheduler.add({1}, 0, prompt(2, 10));  // takes 2 blocks, for 3 tokens
  scheduler.add({2}, 0, prompt(4, 20));  // needs 3
  scheduler.add({3}, 0, prompt(1, 30));  // would fit, but does not pass the one before
  EXPECT_EQ(advance(scheduler), "1:0+2*");
  scheduler.cancel({1});
  EXPECT_EQ(advance(scheduler), "2:0+4*");
}

// Three blocks of 2 tokens, two sequences with prompts of 1: as they grow, the later one gives
// its block up and is computed again, prompt and drawn tokens, when there is room.
TEST(Scheduler, PreemptsTheLastInTheQueueAndReplaysItsTokens) {
  BlockPool pool(3, 2);
  Scheduler scheduler({.sequences_max = 2, .step_tokens_max = 100, .share_prefixes = false}, pool);
  scheduler.add({1}, 0, prompt(1, 10));
  scheduler.add({2}, 0, prompt(1, 20));
  EXPECT_EQ(advance(scheduler), "1:0+1* 2:0+1*");
  EXPECT_EQ(advance(scheduler, 7), "1:1+1* 2:1+1*");
  EXPECT_EQ(advance(scheduler), "1:2+1*");  // takes the third block; 2 finds none
  EXPECT_EQ(scheduler.counts().num_preempted, 1U);
  EXPECT_EQ(scheduler.num_waiting(), 1U);
  scheduler.cancel({1});
  const auto step = scheduler.schedule();
  EXPECT_EQ(text(step), "2:0+3*");
  EXPECT_EQ(step.rows[0].sequence->token_ids, (Ids{20, 99, 7}));
}

TEST(Scheduler, SiblingsWaitForTheirPromptAndComputeOnlyItsLastBlock) {
  BlockPool pool(64, 4);
  Scheduler scheduler({.sequences_max = 8, .step_tokens_max = 6, .share_prefixes = true}, pool);
  for (std::uint64_t id = 1; id <= 3; ++id) scheduler.add({id}, 0, prompt(10, 10));
  scheduler.add({4}, 1, prompt(2, 50));  // has nothing in common: passes
  EXPECT_EQ(advance(scheduler), "1:0+6");
  EXPECT_EQ(advance(scheduler), "1:6+4* 4:0+2*");
  EXPECT_EQ(advance(scheduler), "1:10+1* 4:2+1* 2:8+2* 3:8+2*");
  EXPECT_EQ(scheduler.counts().num_reused_prompt_tokens, 16U);
  EXPECT_EQ(pool.num_used(), 3U + 1U + 1U + 1U);
}

TEST(Scheduler, AFinishedReplyIsAPrefixOfTheNextTurn) {
  BlockPool pool(64, 2);
  Scheduler scheduler({.sequences_max = 8, .step_tokens_max = 64, .share_prefixes = true}, pool);
  scheduler.add({1}, 0, {10, 11, 12});
  advance(scheduler, 20);
  advance(scheduler, 21);
  const auto step = scheduler.schedule();
  scheduler.update(step, {{22, true}});
  EXPECT_EQ(pool.num_used(), 0U);
  // Computed were 10 11 12 20 21: two full blocks.
  scheduler.add({2}, 0, {10, 11, 12, 20, 21, 22, 30});
  EXPECT_EQ(advance(scheduler), "2:4+3*");
}

// Of a prefix that nobody uses, the end is given up first: the beginning can still be shared.
TEST(Scheduler, TheCacheKeepsBeginningsLonger) {
  BlockPool pool(4, 2);
  Scheduler scheduler({.sequences_max = 8, .step_tokens_max = 64, .share_prefixes = true}, pool);
  scheduler.add({1}, 0, {10, 11, 12, 13, 14, 15});
  scheduler.update(scheduler.schedule(), {{20, true}});  // three blocks are cached, one is free
  scheduler.add({2}, 0, {30, 31});                       // takes the free one and the last cached
  scheduler.update(scheduler.schedule(), {{20, true}});
  scheduler.add({3}, 0, {10, 11, 12, 13, 14, 15});
  EXPECT_EQ(advance(scheduler), "3:4+2*");
}

TEST(Scheduler, SuspendAllFreesEveryBlockAndKeepsEveryToken) {
  BlockPool pool(16, 2);
  Scheduler scheduler({.sequences_max = 8, .step_tokens_max = 64, .share_prefixes = false}, pool);
  scheduler.add({1}, 3, {10, 11});
  scheduler.add({2}, 2, {20});
  advance(scheduler, 30);
  scheduler.suspend_all();
  EXPECT_EQ(pool.num_used(), 0U);
  EXPECT_EQ(scheduler.num_waiting(), 2U);
  EXPECT_EQ(advance(scheduler), "2:0+2* 1:0+3*");
}

TEST(Scheduler, AnErrorEndsASequenceWithoutAToken) {
  BlockPool pool(16, 2);
  Scheduler scheduler({}, pool);
  scheduler.add({1}, 0, {10, 11});
  scheduler.update(scheduler.schedule(), {{std::nullopt, false}});
  EXPECT_EQ(scheduler.num_running() + scheduler.num_waiting(), 0U);
  EXPECT_EQ(pool.num_used(), 0U);
}
}  // namespace
}  // namespace corisco::engine
