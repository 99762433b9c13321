// The scheduler's passes over what runs, and the life of a sequence: waiting <-> running -> gone.
#include "engine/scheduler.h"

#include <algorithm>
#include <ranges>
#include <span>
#include <utility>

#include "corisco/base/assert.h"
#include "corisco/base/random.h"
#include "corisco/base/strings.h"

namespace corisco::engine {
// No more sequences run than one step has tokens: then every decoding one gets its token in
// every step, and a prompt chunk always finds at least one.
Scheduler::Scheduler(SchedulerOptions options, BlockPool& pool, StatePool* states)
    : options_(options),
      running_max_(std::min(options.sequences_max, options.step_tokens_max)),
      pool_(pool),
      states_(states) {
  CORISCO_ASSERT(running_max_ > 0, cat("no sequence can run"));
}

void Scheduler::add(RequestId id, std::uint64_t queue_order, std::vector<TokenId> prompt_ids, bool scores_prompt) {
  CORISCO_ASSERT(!prompt_ids.empty() && pool_.blocks_for(prompt_ids.size() + 1) <= pool_.num_blocks(),
                 cat("a prompt of ", prompt_ids.size(), " tokens in ", pool_.num_blocks(), " blocks"));
  CORISCO_ASSERT(!keys_.contains(id), cat("request ", id, " added twice"));
  auto sequence = std::make_unique<Sequence>();
  sequence->id = id;
  sequence->key = {queue_order, ++last_arrival_};
  sequence->num_prompt = static_cast<std::uint32_t>(prompt_ids.size());
  sequence->scores_prompt = scores_prompt;
  sequence->token_ids = std::move(prompt_ids);
  hash_full_blocks(*sequence);
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
  const bool may_admit = reserve_growth(step) && admit_idle_rollouts(step);
  for (const auto& sequence : running_ | std::views::values)
    if (sequence->num_remaining() == 1) schedule_tokens(step, *sequence, budget);
  schedule_prompts(step, budget);
  if (may_admit) admit(step, budget);
  return step;
}

// Each rollout's first unfinished prompt, the oldest rollout's first; then the second ones.
void Scheduler::schedule_prompts(ScheduledStep& step, std::uint32_t& budget) {
  std::vector<std::pair<std::uint32_t, Sequence*>> turns;
  for (const auto& sequence : running_ | std::views::values) {
    if (sequence->num_remaining() <= 1) continue;
    const bool is_next_of_one = !turns.empty() && turns.back().second->key.first == sequence->key.first;
    turns.emplace_back(is_next_of_one ? turns.back().first + 1 : 0, sequence.get());
  }
  std::ranges::stable_sort(turns, {}, [](const auto& turn) { return turn.first; });
  for (const auto& turn : turns) schedule_tokens(step, *turn.second, budget);
}

void Scheduler::schedule_tokens(ScheduledStep& step, Sequence& sequence, std::uint32_t& budget) {
  std::uint32_t num_tokens = std::min(sequence.num_remaining(), budget);
  if (num_tokens == 0) return;
  // A pass over the prompt stops where its state is kept.
  const std::uint32_t boundary = prompt_boundary(sequence);
  if (sequence.num_computed < boundary) num_tokens = std::min(num_tokens, boundary - sequence.num_computed);
  budget -= num_tokens;
  step.rows.push_back({&sequence, sequence.num_computed, num_tokens,
                       num_tokens == sequence.num_remaining()});
  if (sequence.wants_prompt_rows())
    step.rows.back().num_scored = std::min(num_tokens, sequence.num_prompt - 1 - sequence.num_computed);
  save_state(sequence, step.rows.back());
}

// Tokens of the prompt's whole blocks, the last token left out, since its logits are needed; 0: no state is kept.
std::uint32_t Scheduler::prompt_boundary(const Sequence& sequence) const {
  if (states_ == nullptr || !options_.share_prefixes) return 0;
  return (sequence.num_prompt - 1) / pool_.block_tokens() * pool_.block_tokens();
}

// The state at the end of the prompt's whole blocks serves its siblings, the one at the end of each whole block
// of the reply the turn that goes on from it. Without a slot to spare none is kept.
void Scheduler::save_state(Sequence& sequence, ScheduledRow& row) {
  if (states_ == nullptr || !options_.share_prefixes) return;
  const std::uint32_t end = row.first + row.num_tokens;
  const bool is_reply = end > sequence.num_prompt && end % pool_.block_tokens() == 0;
  if (end != prompt_boundary(sequence) && !is_reply) return;
  sequence.saving = states_->take();
  row.saves_to = sequence.saving;
}

// After its blocks are recorded: sequence.prefix names all of them.
void Scheduler::keep_state(Sequence& sequence) {
  if (!sequence.saving) return;
  states_->keep(*sequence.saving, sequence.prefix);
  sequence.saving.reset();
  if (sequence.num_computed <= sequence.num_prompt) return;
  if (sequence.saved_reply != 0) states_->forget(sequence.saved_reply);
  sequence.saved_reply = sequence.prefix;
}

// First in the queue order first. The first always advances, so all end. False: some lost their blocks;
// they would only take them back from those they gave them to, so nobody is admitted in this step.
bool Scheduler::reserve_growth(ScheduledStep& step) {
  for (auto next = running_.begin(); next != running_.end();) {
    if (grow(*next->second)) {
      ++next;
      continue;
    }
    auto victim = who_gives_way();
    if (victim == running_.end()) --victim;
    CORISCO_ASSERT(running_.size() > 1, cat("request ", victim->second->id, " alone exceeds the KV cache: ",
                                            victim->second->num_tokens(), " tokens"));
    if (victim == next) ++next;
    preempt(victim, step);
  }
  return step.num_preempted == 0;
}

bool Scheduler::grow(Sequence& sequence) {
  while (sequence.blocks.size() < pool_.blocks_for(sequence.num_tokens())) {
    const auto block = pool_.allocate();
    if (!block) return false;
    sequence.blocks.push_back(*block);
  }
  return true;
}

void Scheduler::update(const ScheduledStep& step, const std::vector<Draw>& draws) {
  auto draw = draws.begin();
  for (const auto& row : step.rows) {
    const auto running = running_.find(row.sequence->key);
    CORISCO_ASSERT(running != running_.end(), cat("a scheduled sequence does not run"));
    Sequence& sequence = *running->second;
    sequence.num_computed += row.num_tokens;
    if (options_.share_prefixes) record_full_blocks(sequence);
    keep_state(sequence);
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
  hash_full_blocks(sequence);
  for (; (sequence.num_recorded + 1) * block <= sequence.num_computed; ++sequence.num_recorded) {
    const std::size_t number = sequence.num_recorded;
    sequence.prefix = pool_.record(sequence.blocks[number], sequence.prefix, ids.subspan(number * block, block),
                                   sequence.prefix_hashes[number]);
  }
}

// Last block first: then the cache gives up the ends of prefixes before their beginnings.
void Scheduler::release_blocks(Sequence& sequence) {
  for (const BlockIndex block : sequence.blocks | std::views::reverse) pool_.release(block);
  sequence.blocks.clear();
  for (auto* slot : {&sequence.state, &sequence.saving}) {
    if (*slot) states_->release(**slot);
    slot->reset();
  }
  sequence.num_computed = 0;
  sequence.num_recorded = 0;
  sequence.prefix = 0;
}

// Of what it has now.
void Scheduler::hash_full_blocks(Sequence& sequence) const {
  if (!options_.share_prefixes) return;
  const std::size_t block = pool_.block_tokens();
  const std::span<const TokenId> ids(sequence.token_ids);
  auto& hashes = sequence.prefix_hashes;
  while ((hashes.size() + 1) * block <= ids.size()) {
    const std::uint64_t before = hashes.empty() ? 0 : hashes.back();
    hashes.push_back(hash_words({before, hash_ids(ids.subspan(hashes.size() * block, block))}));
  }
}

void Scheduler::suspend(Queue::iterator running) {
  release_blocks(*running->second);
  hash_full_blocks(*running->second);
  waiting_.insert(running_.extract(running));
}

void Scheduler::preempt(Queue::iterator running, ScheduledStep& step) {
  suspend(running);
  ++step.num_preempted;
  ++counts_.num_preempted;
}

void Scheduler::suspend_all() {
  while (!running_.empty()) suspend(std::prev(running_.end()));
}

std::uint32_t Scheduler::num_running(std::uint64_t queue_order) const {
  std::uint32_t num = 0;
  for (auto at = running_.lower_bound({queue_order, 0}); at != running_.end() && at->first.first == queue_order; ++at)
    ++num;
  return num;
}
}  // namespace corisco::engine
