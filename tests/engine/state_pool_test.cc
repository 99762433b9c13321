// Which states are kept, which give way, and what a scheduler makes of them.
#include "engine/state_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "corisco/base/strings.h"
#include "engine/scheduler.h"

namespace corisco::engine {
namespace {
using Ids = std::vector<TokenId>;

TEST(StatePool, KeptStatesGiveWayToTakenOnesTheOldestFirst) {
  StatePool states(3);
  const StateSlot live = states.take().value(), a = states.take().value(), b = states.take().value();
  EXPECT_EQ(states.take(), std::nullopt);
  states.keep(a, 10);
  states.keep(b, 11);
  EXPECT_EQ(states.find(10), a);  // 11 is the oldest now
  EXPECT_EQ(states.take(), b);
  EXPECT_EQ(states.find(11), std::nullopt);
  EXPECT_EQ(states.find(10), a);
  states.release(live);
  EXPECT_EQ(states.num_available(), 2U);
}

TEST(StatePool, APrefixHasOneState) {
  StatePool states(2);
  const StateSlot first = states.take().value(), second = states.take().value();
  states.keep(first, 5);
  states.keep(second, 5);
  EXPECT_EQ(states.find(5), first);
  EXPECT_EQ(states.take(), second);
  states.forget_all();
  EXPECT_EQ(states.find(5), std::nullopt);
  EXPECT_EQ(states.take(), first);
}

Ids counting(std::size_t size, TokenId first) {
  Ids ids(size);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

// "1:0+8> 2:8+2*<": request 1 computes 8 tokens and its state is kept; 2 goes on from a kept one and draws 99.
std::string advance(Scheduler& scheduler) {
  const auto step = scheduler.schedule();
  std::vector<Draw> draws;
  std::string shown;
  for (const auto& row : step.rows) {
    EXPECT_TRUE(row.sequence->state.has_value());
    const auto resumes = [&row](const StateCopy& copy) { return copy.to == row.sequence->state; };
    shown += cat(shown.empty() ? "" : " ", row.sequence->id, ":", row.first, "+", row.num_tokens,
                 row.draws ? "*" : "", std::ranges::any_of(step.resumes, resumes) ? "<" : "", row.saves_to ? ">" : "");
    if (row.draws) draws.push_back({99, false});
  }
  scheduler.update(step, draws);
  return shown;
}

TEST(StatefulScheduler, SiblingsAndTheNextTurnGoOnFromWhereAStateIsKept) {
  BlockPool pool(64, 4);
  StatePool states(8);
  Scheduler scheduler({.sequences_max = 4, .step_tokens_max = 100}, pool, &states);
  scheduler.add({1}, 0, counting(10, 20));
  scheduler.add({2}, 0, counting(10, 20));
  EXPECT_EQ(advance(scheduler), "1:0+8>");              // 2 waits for the eight
  EXPECT_EQ(advance(scheduler), "1:8+2* 2:8+2*<");
  EXPECT_EQ(advance(scheduler), "1:10+1* 2:10+1*");
  EXPECT_EQ(advance(scheduler), "1:11+1*> 2:11+1*>");   // twelve tokens, the same prefix
  scheduler.cancel({1});
  scheduler.cancel({2});
  Ids turn = counting(10, 20);
  turn.insert(turn.end(), {99, 99, 7, 8});
  scheduler.add({3}, 0, turn);
  EXPECT_EQ(advance(scheduler), "3:12+2*<");
  EXPECT_EQ(scheduler.counts().num_reused_prompt_tokens, 8U + 12U);
}

TEST(StatefulScheduler, WithoutASlotASequenceWaitsAndNoStateIsKept) {
  BlockPool pool(64, 4);
  StatePool states(1);
  Scheduler scheduler({.sequences_max = 4, .step_tokens_max = 100}, pool, &states);
  scheduler.add({1}, 0, counting(6, 20));
  scheduler.add({2}, 0, counting(6, 50));
  EXPECT_EQ(advance(scheduler), "1:0+4");
  EXPECT_EQ(advance(scheduler), "1:4+2*");
  scheduler.cancel({1});
  EXPECT_EQ(advance(scheduler), "2:0+4");
  scheduler.suspend_all();
  EXPECT_EQ(states.num_available(), 1U);
  EXPECT_EQ(advance(scheduler), "2:0+4");
}

// Blocks of a prefix outlive its state: then it is computed anew.
TEST(StatefulScheduler, APrefixWithoutAStateIsNotShared) {
  BlockPool pool(64, 4);
  StatePool states(3);
  Scheduler scheduler({.sequences_max = 4, .step_tokens_max = 100}, pool, &states);
  scheduler.add({1}, 0, counting(10, 20));
  EXPECT_EQ(advance(scheduler), "1:0+8>");
  states.forget_all();
  scheduler.add({2}, 0, counting(10, 20));
  EXPECT_EQ(advance(scheduler), "1:8+2* 2:0+8>");
  EXPECT_EQ(scheduler.counts().num_reused_prompt_tokens, 0U);
}
}  // namespace
}  // namespace corisco::engine
