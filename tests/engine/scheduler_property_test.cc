// Random traffic against the scheduler: whatever arrives, is cancelled or suspended, the budget
// holds, tokens are computed once and in order, the cache shows each its own past, and all end.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <set>
#include <vector>

#include "corisco/base/random.h"
#include "engine/scheduler.h"

namespace corisco::engine {
namespace {
struct Traffic {
  std::uint32_t num_requests, num_blocks, block_tokens, sequences_max, step_tokens_max;
  std::uint32_t prompt_max, reply_max;
  bool share_prefixes;
};

class Simulation {
 public:
  Simulation(const Traffic& traffic, std::uint64_t seed)
      : traffic_(traffic),
        seed_(seed),
        pool_(traffic.num_blocks, traffic.block_tokens),
        scheduler_({traffic.sequences_max, traffic.step_tokens_max, traffic.share_prefixes}, pool_),
        cache_(std::size_t{traffic.num_blocks} * traffic.block_tokens, -1) {}

  // Steps until all requests have ended; -1 when that takes longer than computing them one
  // after the other from nothing, ten times.
  int run() {
    std::uint64_t added = 0;
    const std::uint64_t longest = traffic_.prompt_max + traffic_.reply_max;
    const int steps_max = static_cast<int>(traffic_.num_requests * longest * 10);
    for (int steps = 0; steps < steps_max; ++steps) {
      while (added < traffic_.num_requests && pick(3) != 0) add(++added);
      if (!left_.empty() && pick(40) == 0) cancel();
      if (pick(50) == 0) scheduler_.suspend_all();
      if (pick(100) == 0) start_version();
      step();
      if (::testing::Test::HasFatalFailure()) return -1;
      if (added == traffic_.num_requests && left_.empty()) return steps;
    }
    return -1;
  }
  std::uint32_t num_used() const { return pool_.num_used(); }
  std::uint64_t num_preempted() const { return scheduler_.counts().num_preempted; }
  std::uint64_t num_reused() const { return scheduler_.counts().num_reused_prompt_tokens; }

 private:
  std::uint64_t pick(std::uint64_t n) {
    return static_cast<std::uint64_t>(uniform(seed_, ++counter_) * static_cast<double>(n));
  }
  void add(std::uint64_t id) {
    std::vector<TokenId> ids(1 + pick(traffic_.prompt_max));
    // Groups of eight with one prompt; few values, so that others meet by chance.
    const std::uint64_t key = hash_words({seed_, id / 8});
    if (traffic_.share_prefixes) ids.resize(1 + key % traffic_.prompt_max);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<TokenId>(uniform(key, i) * 2);
    expected_[id] = ids;
    left_[id] = static_cast<std::uint32_t>(1 + pick(traffic_.reply_max));
    scheduler_.add({id}, pick(4), std::move(ids));
  }
  void cancel() {
    auto victim = left_.begin();
    std::advance(victim, static_cast<std::ptrdiff_t>(pick(left_.size())));
    scheduler_.cancel({victim->first});
    left_.erase(victim);
  }
  void start_version() {
    scheduler_.suspend_all();
    pool_.start_version({++version_});
    std::fill(cache_.begin(), cache_.end(), -1);
  }
  // A device whose cache holds token ids: a row that sees anything but its own past fails.
  void compute(const ScheduledRow& row) {
    const Sequence& sequence = *row.sequence;
    const auto place = [&](std::uint32_t position) {
      return sequence.blocks.at(position / traffic_.block_tokens) * traffic_.block_tokens +
             position % traffic_.block_tokens;
    };
    for (std::uint32_t i = 0; i < row.num_tokens; ++i)
      cache_[place(row.first + i)] = sequence.token_ids[row.first + i];
    for (std::uint32_t i = 0; i < row.first + row.num_tokens; ++i)
      ASSERT_EQ(cache_[place(i)], expected_.at(sequence.id.value).at(i));
  }
  void step() {
    const auto step = scheduler_.schedule();
    std::uint32_t num_tokens = 0;
    std::set<std::uint64_t> seen;
    std::vector<Draw> draws;
    for (const auto& row : step.rows) {
      const std::uint64_t id = row.sequence->id.value;
      ASSERT_TRUE(left_.contains(id) && seen.insert(id).second);
      ASSERT_EQ(row.sequence->token_ids, expected_.at(id));
      ASSERT_GT(row.num_tokens, 0U);
      num_tokens += row.num_tokens;
      compute(row);
      if (row.draws) draws.push_back(draw(id));
    }
    ASSERT_LE(num_tokens, traffic_.step_tokens_max);
    ASSERT_LE(scheduler_.num_running(), traffic_.sequences_max);
    ASSERT_TRUE(left_.empty() || !step.rows.empty() || step.num_preempted > 0) << "nothing runs";
    scheduler_.update(step, draws);
    ASSERT_EQ(scheduler_.num_running() + scheduler_.num_waiting(), left_.size());
  }
  Draw draw(std::uint64_t id) {
    const auto token = static_cast<TokenId>(pick(2));
    expected_[id].push_back(token);
    const bool ends = --left_[id] == 0;
    if (ends) left_.erase(id);
    return {token, ends};
  }

  const Traffic traffic_;
  const std::uint64_t seed_;
  std::uint64_t counter_ = 0, version_ = 0;
  BlockPool pool_;
  Scheduler scheduler_;
  std::vector<TokenId> cache_;
  std::map<std::uint64_t, std::vector<TokenId>> expected_;
  std::map<std::uint64_t, std::uint32_t> left_;  // tokens still to draw
};

TEST(SchedulerProperty, RandomTrafficEndsWithinItsBudgetsAndLeavesNoBlock) {
  std::uint64_t num_preempted = 0, num_reused = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const std::uint32_t block_tokens = seed % 3 == 0 ? 1 : (seed % 3 == 1 ? 4 : 16);
    const Traffic traffic{.num_requests = 60, .num_blocks = 96 / block_tokens, .block_tokens = block_tokens,
                          .sequences_max = 12, .step_tokens_max = seed % 5 == 0 ? 3U : 24U,
                          .prompt_max = 40, .reply_max = 30, .share_prefixes = seed % 2 == 0};
    Simulation simulation(traffic, seed);
    ASSERT_GE(simulation.run(), 0) << "seed " << seed;
    EXPECT_EQ(simulation.num_used(), 0U) << "seed " << seed;
    num_preempted += simulation.num_preempted();
    num_reused += simulation.num_reused();
  }
  EXPECT_GT(num_preempted, 100U);  // else the traffic would not test what it should
  EXPECT_GT(num_reused, 1000U);
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

TEST(SchedulerProperty, FiveHundredAndTwelveSequences) {
  const Traffic traffic{.num_requests = 512, .num_blocks = 2048, .block_tokens = 16, .sequences_max = 512,
                        .step_tokens_max = 2048, .prompt_max = 120, .reply_max = 60, .share_prefixes = true};
  Simulation simulation(traffic, 5);
  ASSERT_GE(simulation.run(), 0);
  EXPECT_EQ(simulation.num_used(), 0U);
}
}  // namespace
}  // namespace corisco::engine
