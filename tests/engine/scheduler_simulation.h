// Random traffic against the scheduler, with a device that knows which tokens its cache and states hold: a row
// that sees anything but its own past fails.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "corisco/base/random.h"
#include "engine/scheduler.h"

namespace corisco::engine {
struct Traffic {
  std::uint32_t num_requests, num_blocks, block_tokens, sequences_max, step_tokens_max;
  std::uint32_t prompt_max, reply_max;
  bool share_prefixes;
  std::uint32_t num_states = 0;             // slots of recurrent layers; 0: the model has none
  std::uint32_t scored_every = 0;           // one in so many has its prompt scored, some of them draw nothing; 0: none
};

class Simulation {
 public:
  Simulation(const Traffic& traffic, std::uint64_t seed)
      : traffic_(traffic),
        seed_(seed),
        pool_(traffic.num_blocks, traffic.block_tokens),
        states_(traffic.num_states),
        scheduler_({traffic.sequences_max, traffic.step_tokens_max, traffic.share_prefixes}, pool_,
                   traffic.num_states > 0 ? &states_ : nullptr),
        cache_(std::size_t{traffic.num_blocks} * traffic.block_tokens, -1),
        slots_(traffic.num_states) {}

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
  std::uint32_t num_states_used() const { return states_.num_slots() - states_.num_available(); }
  std::uint64_t num_preempted() const { return scheduler_.counts().num_preempted; }
  std::uint64_t num_reused() const { return scheduler_.counts().num_reused_prompt_tokens; }
  std::uint64_t num_saved() const { return num_saved_; }
  std::uint64_t num_failed() const { return num_failed_; }
  std::uint64_t num_scored() const { return num_scored_; }

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
    const bool scores_prompt = traffic_.scored_every > 0 && pick(traffic_.scored_every) == 0;
    if (scores_prompt) scored_[id] = 0;
    scheduler_.add({id}, pick(4), std::move(ids), scores_prompt);
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
    states_.forget_all();
    std::fill(cache_.begin(), cache_.end(), -1);
    std::fill(slots_.begin(), slots_.end(), std::vector<TokenId>{-1});
  }
  void compute(const ScheduledRow& row) {
    const Sequence& sequence = *row.sequence;
    const auto place = [&](std::uint32_t position) {
      return sequence.blocks.at(position / traffic_.block_tokens) * traffic_.block_tokens +
             position % traffic_.block_tokens;
    };
    const auto& expected = expected_.at(sequence.id.value);
    for (std::uint32_t i = 0; i < row.num_tokens; ++i)
      cache_[place(row.first + i)] = sequence.token_ids[row.first + i];
    for (std::uint32_t i = 0; i < row.first + row.num_tokens; ++i) ASSERT_EQ(cache_[place(i)], expected.at(i));
    if (!sequence.state) return;
    auto& state = slots_.at(static_cast<std::size_t>(*sequence.state));
    if (row.first == 0) state.clear();
    const auto begin = expected.begin();
    ASSERT_EQ(state, std::vector<TokenId>(begin, begin + row.first));
    state.assign(begin, begin + row.first + row.num_tokens);
  }
  // Of a prompt that is scored each token but the last has its row scored once, in order, before the first draw; whoever
  // has lost its rows begins again.
  void score(const ScheduledRow& row) {
    const auto found = scored_.find(row.sequence->id.value);
    if (found == scored_.end()) {
      ASSERT_EQ(row.num_scored, 0U);
      return;
    }
    if (row.first == 0) found->second = 0;
    ASSERT_EQ(found->second, row.first);
    found->second += row.num_scored;
    if (!row.draws) return;
    ASSERT_EQ(found->second, row.sequence->num_prompt - 1);
    scored_.erase(found);
    ++num_scored_;
  }
  void copy(const StateCopy& states) {
    slots_.at(static_cast<std::size_t>(states.to)) = slots_.at(static_cast<std::size_t>(states.from));
  }
  // Every slot of the step is one sequence's alone, and a state is saved where a request ends or may go on: behind
  // the whole blocks of its prompt, or of what it has drawn.
  void check_states(const ScheduledStep& step) {
    std::set<StateSlot> used;
    for (const auto& row : step.rows) {
      const Sequence& sequence = *row.sequence;
      ASSERT_EQ(sequence.state.has_value(), traffic_.num_states > 0);
      ASSERT_TRUE(!sequence.state || used.insert(*sequence.state).second);
      if (!row.saves_to) continue;
      ASSERT_TRUE(used.insert(*row.saves_to).second);
      const std::uint32_t end = row.first + row.num_tokens, block = traffic_.block_tokens;
      ASSERT_EQ(end % block, 0U);
      ASSERT_TRUE(end > sequence.num_prompt || end == (sequence.num_prompt - 1) / block * block);
      ++num_saved_;
    }
  }
  void check_rows(const ScheduledStep& step) {
    std::uint32_t num_tokens = 0;
    std::set<std::uint64_t> seen;
    for (const auto& row : step.rows) {
      const std::uint64_t id = row.sequence->id.value;
      ASSERT_TRUE(left_.contains(id) && seen.insert(id).second);
      ASSERT_EQ(row.sequence->token_ids, expected_.at(id));
      ASSERT_GT(row.num_tokens, 0U);
      num_tokens += row.num_tokens;
    }
    ASSERT_LE(num_tokens, traffic_.step_tokens_max);
    ASSERT_LE(scheduler_.num_running(), traffic_.sequences_max);
    ASSERT_TRUE(left_.empty() || !step.rows.empty() || step.num_preempted > 0) << "nothing runs";
  }
  void step() {
    const auto step = scheduler_.schedule();
    check_rows(step);
    check_states(step);
    if (::testing::Test::HasFatalFailure()) return;
    if (!step.rows.empty() && pick(400) == 0) return fail(step);
    for (const auto& states : step.resumes) copy(states);
    std::vector<Draw> draws;
    for (const auto& row : step.rows) {
      const auto id = row.sequence->id.value;
      const bool wants_none = scored_.contains(id) && id % 3 == 0;
      compute(row);
      score(row);
      if (row.draws) draws.push_back(wants_none ? end_without_token(id) : draw(id));
    }
    for (const auto& row : step.rows)
      if (row.saves_to) copy({*row.sequence->state, *row.saves_to});
    scheduler_.update(step, draws);
    check_places();
  }
  // A pass that failed ends the sequences of its step.
  void fail(const ScheduledStep& step) {
    std::vector<std::uint64_t> ids;
    for (const auto& row : step.rows) ids.push_back(row.sequence->id.value);
    for (const auto id : ids) {
      scheduler_.cancel({id});
      left_.erase(id);
    }
    ++num_failed_;
    check_places();
  }
  // Between steps each running sequence has one slot, and nobody else has any.
  void check_places() {
    ASSERT_EQ(scheduler_.num_running() + scheduler_.num_waiting(), left_.size());
    ASSERT_EQ(num_states_used(), traffic_.num_states > 0 ? scheduler_.num_running() : 0U);
  }
  Draw draw(std::uint64_t id) {
    const auto token = static_cast<TokenId>(pick(2));
    expected_[id].push_back(token);
    const bool ends = --left_[id] == 0;
    if (ends) left_.erase(id);
    return {token, ends};
  }

  Draw end_without_token(std::uint64_t id) {
    left_.erase(id);
    return {std::nullopt, true};
  }

  const Traffic traffic_;
  const std::uint64_t seed_;
  std::uint64_t counter_ = 0, version_ = 0, num_saved_ = 0, num_failed_ = 0, num_scored_ = 0;
  BlockPool pool_;
  StatePool states_;
  Scheduler scheduler_;
  std::vector<TokenId> cache_;                    // the token of each row
  std::vector<std::vector<TokenId>> slots_;       // the tokens that each state has seen
  std::map<std::uint64_t, std::vector<TokenId>> expected_;
  std::map<std::uint64_t, std::uint32_t> left_;   // tokens still to draw
  std::map<std::uint64_t, std::uint32_t> scored_;   // rows scored so far, of prompts under way
};
}  // namespace corisco::engine
