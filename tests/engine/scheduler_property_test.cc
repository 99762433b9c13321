// Random traffic against the scheduler: whatever arrives, is cancelled or suspended, the budget
// holds, tokens are computed once and in order, the cache shows each its own past, and all end.
#include <gtest/gtest.h>

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

TEST(SchedulerProperty, FiveHundredAndTwelveSequences) {
  const Traffic traffic{.num_requests = 512, .num_blocks = 2048, .block_tokens = 16, .sequences_max = 512,
                        .step_tokens_max = 2048, .prompt_max = 120, .reply_max = 60, .share_prefixes = true};
  Simulation simulation(traffic, 5);
  ASSERT_GE(simulation.run(), 0);
  EXPECT_EQ(simulation.num_used(), 0U);
}
}  // namespace
}  // namespace corisco::engine
