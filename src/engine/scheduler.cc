// The scheduler's three passes, and the life of a sequence: waiting <-> running -> gone.
#include "engine/scheduler.h"

#include <algorithm>
#include <ranges>
#include <span>
#include <utility>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"

namespace corisco::engine {
namespace {
void schedule_tokens(ScheduledStep& step, const Sequence& sequence, std::uint32_t& budget) {
  const std::uint32_t num_tokens = std::min(sequence.num_remaining(), budget);
  if (num_tokens == 0) return;
  budget -= num_tokens;
  step.rows.push_back({&sequence, sequence.num_computed, num_tokens,
                       num_tokens == sequence.num_remaining()});
}
}  // namespace

// No more sequences run than one step has tokens: then every decoding one gets its token in
// every step, and a prompt chunk always finds at least one.
Scheduler::Scheduler(SchedulerOptions options, BlockPool& pool)
    : options_(options),
      running_max_(std::min(options.sequences_max, options.step_tokens_max)),
      pool_(pool) {
  CORISCO_ASSERT(running_max_ > 0, cat("no sequence can run"));
}

void Scheduler::add(RequestId id, std::uint64_t queue_order, std::vector<TokenId> prompt_ids) {
  CORISCO_ASSERT(!prompt_ids.empty() && pool_.blocks_for(prompt_ids.size() + 1) <= pool_.num_blocks(),
                 cat("a prompt of ", prompt_ids.size(), " tokens in ", pool_.num_blocks(), " blocks"));
  CORISCO_ASSERT(!keys_.contains(id), cat("request ", id, " added twice"));
  auto sequence = std::make_unique<Sequence>();
  sequence->id = id;
  sequence->key = {queue_order, ++last_arrival_};
  sequence->num_prompt = static_cast<std::uint32_t>(prompt_ids.size());
  sequence->token_ids = std::move(prompt_ids);
  keys_.emplace(id, sequence->key);
  const QueueKey key = sequence->key;
  waiting_.emplace(key, std::move(sequence));
}

void Scheduler::cancel(RequestId id) {
  const auto entry = keys_.find(id);
  if (entry == keys_.end()) return;
  if (const auto running = running_.find(entry->second); running != running_.end()) {
    release_blocks(*running->second);
    running_.erase(running);
  } else {
    waiting_.erase(entry->second);
  }
  keys_.erase(entry);
}

ScheduledStep Scheduler::schedule() {
  ScheduledStep step;
  std::uint32_t budget = options_.step_tokens_max;
  reserve_growth(step);
  for (const auto& sequence : running_ | std::views::values)
    if (sequence->num_remaining() == 1) schedule_tokens(step, *sequence, budget);
  for (const auto& sequence : running_ | std::views::values)
    if (sequence->num_remaining() > 1) schedule_tokens(step, *sequence, budget);
  // Who has just lost its blocks would only take them back from those it gave them to.
  if (step.num_preempted == 0) admit(step, budget);
  return step;
}

// First in the queue order first; the last ones pay. The first always advances, so all end.
void Scheduler::reserve_growth(ScheduledStep& step) {
  for (auto next = running_.begin(); next != running_.end();) {
    if (grow(*next->second)) {
      ++next;
      continue;
    }
    const auto victim = std::prev(running_.end());
    CORISCO_ASSERT(running_.size() > 1, cat("request ", victim->second->id, " alone exceeds the KV cache: ",
                                            victim->second->num_tokens(), " tokens"));
    if (victim == next) next = running_.end();
    suspend(victim);
    ++step.num_preempted;
    ++counts_.num_preempted;
  }
}

bool Scheduler::grow(Sequence& sequence) {
  while (sequence.blocks.size() < pool_.blocks_for(sequence.num_tokens())) {
    const auto block = pool_.allocate();
    if (!block) return false;
    sequence.blocks.push_back(*block);
  }
  return true;
}

// In queue order. The first that finds no blocks ends it, so that a long prompt is not passed by
// short ones for ever; one that waits for a prefix is passed, since that wait ends by itself.
void Scheduler::admit(ScheduledStep& step, std::uint32_t& budget) {
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    if (budget == 0 || running_.size() >= running_max_) return;
    if (options_.share_prefixes && prefix_is_coming(*next->second)) {
      ++next;
      continue;
    }
    if (!take_blocks(*next->second)) return;
    auto entry = waiting_.extract(next++);
    Sequence& sequence = *entry.mapped();
    sequence.was_admitted = true;
    running_.insert(std::move(entry));
    schedule_tokens(step, sequence, budget);
  }
}

// Blocks for all its tokens and the next one, beside one more for each that runs: it should not
// be preempted as soon as they grow.
bool Scheduler::take_blocks(Sequence& sequence) {
  const std::span<const TokenId> ids(sequence.token_ids);
  BlockPool::Prefix prefix;
  // The last token is computed in any case: its logits are needed.
  if (options_.share_prefixes) prefix = pool_.acquire_prefix(ids.first(ids.size() - 1));
  const std::size_t num_shared = prefix.blocks.size();
  const std::size_t num_new = pool_.blocks_for(ids.size() + 1) - num_shared;
  sequence.blocks = std::move(prefix.blocks);
  if (pool_.num_available() < num_new + running_.size()) {
    release_blocks(sequence);
    return false;
  }
  for (std::size_t i = 0; i < num_new; ++i) sequence.blocks.push_back(pool_.allocate().value());
  sequence.num_recorded = static_cast<std::uint32_t>(num_shared);
  sequence.prefix = prefix.id;
  sequence.num_computed = sequence.num_recorded * pool_.block_tokens();
  if (!sequence.was_admitted) {
    sequence.num_reused = sequence.num_computed;
    counts_.num_reused_prompt_tokens += sequence.num_reused;
  }
  return true;
}

// Whether a running sequence is about to compute whole blocks that this one begins with.
bool Scheduler::prefix_is_coming(const Sequence& sequence) const {
  const std::uint32_t block = pool_.block_tokens();
  const auto& ids = sequence.token_ids;
  for (const auto& other : running_ | std::views::values) {
    if (other->num_remaining() <= 1) continue;
    const std::size_t shareable = std::min(ids.size() - 1, other->token_ids.size()) / block * block;
    const std::size_t wanted = (other->num_computed / block + 1) * block;
    if (wanted <= shareable && std::equal(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(wanted),
                                          other->token_ids.begin()))
      return true;
  }
  return false;
}

void Scheduler::update(const ScheduledStep& step, const std::vector<Draw>& draws) {
  auto draw = draws.begin();
  for (const auto& row : step.rows) {
    const auto running = running_.find(row.sequence->key);
    CORISCO_ASSERT(running != running_.end(), cat("a scheduled sequence does not run"));
    Sequence& sequence = *running->second;
    sequence.num_computed += row.num_tokens;
    if (options_.share_prefixes) record_full_blocks(sequence);
    if (!row.draws) continue;
    CORISCO_ASSERT(draw != draws.end(), cat(draws.size(), " draws are too few for the step"));
    if (draw->id) sequence.token_ids.push_back(*draw->id);
    if (draw->ends || !draw->id) {
      release_blocks(sequence);
      keys_.erase(sequence.id);
      running_.erase(running);
    }
    ++draw;
  }
  CORISCO_ASSERT(draw == draws.end(), cat(draws.size(), " draws are too many for the step"));
}

void Scheduler::record_full_blocks(Sequence& sequence) {
  const std::uint32_t block = pool_.block_tokens();
  const std::span<const TokenId> ids(sequence.token_ids);
  for (; (sequence.num_recorded + 1) * block <= sequence.num_computed; ++sequence.num_recorded) {
    sequence.prefix = pool_.record(sequence.blocks[sequence.num_recorded], sequence.prefix,
                                   ids.subspan(std::size_t{sequence.num_recorded} * block, block));
  }
}

// Last block first: then the cache gives up the ends of prefixes before their beginnings.
void Scheduler::release_blocks(Sequence& sequence) {
  for (const BlockIndex block : sequence.blocks | std::views::reverse) pool_.release(block);
  sequence.blocks.clear();
  sequence.num_computed = 0;
  sequence.num_recorded = 0;
  sequence.prefix = 0;
}

void Scheduler::suspend(Queue::iterator running) {
  release_blocks(*running->second);
  waiting_.insert(running_.extract(running));
}

void Scheduler::suspend_all() {
  while (!running_.empty()) suspend(std::prev(running_.end()));
}
}  // namespace corisco::engine
