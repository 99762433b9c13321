// Random traffic against the scheduler: whatever arrives, is cancelled, fails or is suspended, the budget holds,
// tokens are computed once and in order, the cache and the recurrent states show each its own past, and all end.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <vector>

#include "corisco/base/random.h"
#include "engine/scheduler.h"
#include "engine/scheduler_simulation.h"

namespace corisco::engine {
namespace {
// Sums over the runs of a test, which tell whether its traffic tests what it should.
struct Totals {
  std::uint64_t preempted = 0, reused = 0, saved = 0, failed = 0, scored = 0;
};

constexpr std::uint32_t block_tokens_of(std::uint64_t seed) { return seed % 3 == 0 ? 1 : (seed % 3 == 1 ? 4 : 16); }

// Sixty runs that all end and leave nothing. traffic: of a seed.
Totals run_sixty(Traffic (*traffic)(std::uint64_t seed)) {
  Totals totals;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Simulation simulation(traffic(seed), seed);
    if (simulation.run() < 0) {
      ADD_FAILURE() << "seed " << seed;
      break;
    }
    EXPECT_EQ(simulation.num_used(), 0U) << "seed " << seed;
    EXPECT_EQ(simulation.num_states_used(), 0U) << "seed " << seed;
    totals.preempted += simulation.num_preempted();
    totals.reused += simulation.num_reused();
    totals.saved += simulation.num_saved();
    totals.failed += simulation.num_failed();
    totals.scored += simulation.num_scored();
  }
  return totals;
}

TEST(SchedulerProperty, RandomTrafficEndsWithinItsBudgetsAndLeavesNoBlock) {
  const Totals totals = run_sixty([](std::uint64_t seed) {
    const std::uint32_t block_tokens = block_tokens_of(seed);
    return Traffic{.num_requests = 60, .num_blocks = 96 / block_tokens, .block_tokens = block_tokens,
                   .sequences_max = 12, .step_tokens_max = seed % 5 == 0 ? 3U : 24U,
                   .prompt_max = 40, .reply_max = 30, .share_prefixes = seed % 2 == 0};
  });
  EXPECT_GT(totals.preempted, 100U);
  EXPECT_GT(totals.reused, 1000U);
}

// With recurrent layers: slots for all running sequences and as many kept states, for a few, or for one alone.
TEST(SchedulerProperty, RandomTrafficSharesStatesAndLeavesNone) {
  const Totals totals = run_sixty([](std::uint64_t seed) {
    const std::uint32_t block_tokens = block_tokens_of(seed);
    const std::uint32_t num_states = seed % 4 == 0 ? 24U : (seed % 4 == 1 ? 13U : (seed % 4 == 2 ? 5U : 1U));
    return Traffic{.num_requests = 60, .num_blocks = 128 / block_tokens, .block_tokens = block_tokens,
                   .sequences_max = 12, .step_tokens_max = seed % 5 == 0 ? 3U : 24U, .prompt_max = 40,
                   .reply_max = 30, .share_prefixes = seed % 7 != 0, .num_states = num_states};
  });
  EXPECT_GT(totals.preempted, 50U);
  EXPECT_GT(totals.reused, 300U);
  EXPECT_GT(totals.saved, 300U);
  EXPECT_GT(totals.failed, 5U);
}

TEST(SchedulerProperty, RandomTrafficScoresEachPromptOnce) {
  const Totals totals = run_sixty([](std::uint64_t seed) {
    const std::uint32_t block_tokens = block_tokens_of(seed);
    return Traffic{.num_requests = 60, .num_blocks = 96 / block_tokens, .block_tokens = block_tokens,
                   .sequences_max = 12, .step_tokens_max = seed % 5 == 0 ? 3U : 24U, .prompt_max = 40,
                   .reply_max = 30, .share_prefixes = seed % 2 == 0, .num_states = seed % 4 < 2 ? 0U : 13U,
                   .scored_every = seed % 3 == 0 ? 1U : 3U};
  });
  EXPECT_GT(totals.preempted, 50U);
  EXPECT_GT(totals.reused, 300U);
  EXPECT_GT(totals.scored, 1000U);
}

// One rollout asks 200 at once, and asks again whenever a reply ends; others ask one thing at a time. None
// of them waits longer than its turn among the others takes, and the 200 end too.
TEST(SchedulerProperty, WhoAsksManyAtOnceHoldsUpNobody) {
  constexpr std::uint64_t kGreedy = 1, kOthers = 6;
  constexpr std::uint32_t kReply = 20, kPlaces = 8;
  BlockPool pool(512, 4);
  Scheduler scheduler({.sequences_max = kPlaces, .step_tokens_max = 32, .share_prefixes = false}, pool);
  std::map<std::uint64_t, std::uint32_t> drawn;
  std::map<std::uint64_t, std::uint64_t> order_of;
  std::map<std::uint64_t, int> arrived;
  std::uint64_t last_id = 0;
  int longest_wait = 0;
  std::map<std::uint64_t, int> num_ended;
  const auto ask = [&](std::uint64_t order, int step) {
    order_of[++last_id] = order;
    arrived[last_id] = step;
    scheduler.add({last_id}, order, std::vector<TokenId>(12, static_cast<TokenId>(order)));
  };
  for (int i = 0; i < 200; ++i) ask(kGreedy, 0);
  for (int step = 0; step < 2000; ++step) {
    const auto other = static_cast<std::uint64_t>(step);
    if (other >= 1 && other <= kOthers) ask(kGreedy + other, step);
    const auto scheduled = scheduler.schedule();
    std::vector<Draw> draws;
    std::vector<std::uint64_t> asked_again;
    for (const auto& row : scheduled.rows) {
      const auto id = row.sequence->id.value;
      if (order_of[id] != kGreedy && drawn[id] == 0 && row.draws)
        longest_wait = std::max(longest_wait, step - arrived[id]);
      if (!row.draws) continue;
      const bool ends = ++drawn[id] == kReply;
      draws.push_back({TokenId{7}, ends});
      if (!ends) continue;
      ++num_ended[order_of[id]];
      asked_again.push_back(order_of[id]);
    }
    scheduler.update(scheduled, draws);
    for (const auto order : asked_again) ask(order, step + 1);
  }
  // A prompt of 12 tokens is computed in the step of its arrival, or after those of the five others: there
  // are places for all six, and 32 tokens a step.
  EXPECT_LE(longest_wait, 6);
  for (std::uint64_t order = kGreedy + 1; order <= kGreedy + kOthers; ++order) EXPECT_GT(num_ended[order], 70) << order;
  EXPECT_GT(num_ended[kGreedy], 100);   // two places at least: 2000 steps of 20 tokens
}

// Of time, only that it stays far below that of a step on any device; the figure is printed.
TEST(SchedulerProperty, FiveHundredAndTwelveSequencesTakeLittleTime) {
  constexpr std::uint32_t kSequences = 512, kPrompt = 2000;
  BlockPool pool(kSequences * 140 + 1000, 16);
  Scheduler scheduler({.sequences_max = 256, .step_tokens_max = 2048, .share_prefixes = true}, pool);
  std::vector<double> micros;
  std::uint64_t last_id = 0;
  const auto ask = [&] {
    // A system prompt of 1500 tokens for all, then each group of eight its own task.
    std::vector<TokenId> ids(kPrompt, 3);
    for (std::size_t i = 1500; i < ids.size(); ++i) ids[i] = static_cast<TokenId>(uniform(last_id / 8, i) * 1000);
    ++last_id;
    scheduler.add({last_id}, last_id, std::move(ids));
  };
  for (std::uint32_t i = 0; i < kSequences; ++i) ask();
  for (int step = 0; step < 400; ++step) {
    const std::clock_t begin = std::clock();
    const auto scheduled = scheduler.schedule();
    const std::clock_t middle = std::clock();
    std::vector<Draw> draws;
    std::size_t num_ended = 0;
    for (const auto& row : scheduled.rows) {
      if (!row.draws) continue;
      const bool ends = uniform(row.sequence->id.value, row.sequence->num_tokens()) < 0.02;
      num_ended += ends ? 1 : 0;
      draws.push_back({static_cast<TokenId>(row.sequence->num_tokens()), ends});
    }
    const std::clock_t again = std::clock();
    scheduler.update(scheduled, draws);
    micros.push_back(1e6 * static_cast<double>(middle - begin + std::clock() - again) / CLOCKS_PER_SEC);
    for (; num_ended > 0; --num_ended) ask();
  }
  std::ranges::sort(micros);
  const double median = micros[micros.size() / 2];
  RecordProperty("median_microseconds", static_cast<int>(median));
  RecordProperty("largest_microseconds", static_cast<int>(micros.back()));
  std::printf("scheduler, %u sequences: median %.0f us a step, largest %.0f us\n", kSequences, median, micros.back());
  EXPECT_LT(median, 50000);             // expected: a few hundred
}

TEST(SchedulerProperty, FiveHundredAndTwelveSequencesWithStates) {
  const Traffic traffic{.num_requests = 512, .num_blocks = 2048, .block_tokens = 16, .sequences_max = 512,
                        .step_tokens_max = 2048, .prompt_max = 120, .reply_max = 60, .share_prefixes = true,
                        .num_states = 600};
  Simulation simulation(traffic, 6);
  ASSERT_GE(simulation.run(), 0);
  EXPECT_EQ(simulation.num_used(), 0U);
  EXPECT_EQ(simulation.num_states_used(), 0U);
}

TEST(SchedulerProperty, FiveHundredAndTwelveSequences) {
  const Traffic traffic{.num_requests = 512, .num_blocks = 2048, .block_tokens = 16, .sequences_max = 512,
                        .step_tokens_max = 2048, .prompt_max = 120, .reply_max = 60, .share_prefixes = true};
  Simulation simulation(traffic, 5);
  ASSERT_GE(simulation.run(), 0);
  EXPECT_EQ(simulation.num_used(), 0U);
}
}  // namespace
}  // namespace corisco::engine
