// Who is let in: the scheduler's part that moves sequences from waiting to running, and makes room.
#include <algorithm>
#include <iterator>
#include <ranges>
#include <span>
#include <utility>

#include "engine/scheduler.h"

namespace corisco::engine {
// The oldest first, as long as the step has tokens for it beside every running rollout's first sequence.
// False: one finds no room. Then nobody passes it, so that a long prompt is not passed for ever; one that
// waits for a prefix is passed, since that wait ends by itself.
bool Scheduler::admit_idle_rollouts(ScheduledStep& step) {
  if (waiting_.empty()) return true;
  auto num_tokens = tokens_of_first_sequences();
  auto coming = coming_prefixes();
  for (auto next = waiting_.begin(); next != waiting_.end() && num_tokens < options_.step_tokens_max;) {
    const auto [key, sequence] = std::pair(next->first, next->second.get());
    ++next;
    const auto first = running_.lower_bound({key.first, 0});
    if (first != running_.end() && first->first.first == key.first) continue;
    if (is_coming(coming, *sequence)) continue;
    if (!make_room(*sequence, step)) return false;
    num_tokens += start(key).num_remaining();
    coming.push_back(coming_of(*sequence));
  }
  return true;
}

std::uint64_t Scheduler::tokens_of_first_sequences() const {
  std::uint64_t num_tokens = 0;
  const QueueKey* last = nullptr;
  for (const auto& [key, sequence] : running_) {
    if (last == nullptr || last->first != key.first) num_tokens += sequence->num_remaining();
    last = &key;
  }
  return num_tokens;
}

// Takes its blocks, from others if need be. False: it has none.
bool Scheduler::make_room(Sequence& sequence, ScheduledStep& step) {
  if (running_.size() < running_max_ && take_blocks(sequence, step)) return true;
  if (!could_make_room(sequence)) return false;
  do {
    const auto victim = who_gives_way();
    if (victim == running_.end()) return false;
    preempt(victim, step);
  } while (running_.size() >= running_max_ || !take_blocks(sequence, step));
  return true;
}

// If all but each rollout's first sequence gave way; blocks that they share are counted too often.
bool Scheduler::could_make_room(const Sequence& sequence) const {
  std::size_t num_first = 0, num_blocks = pool_.num_available();
  const QueueKey* last = nullptr;
  for (const auto& [key, running] : running_) {
    if (last != nullptr && last->first == key.first) num_blocks += running->blocks.size();
    else ++num_first;
    last = &key;
  }
  return num_first < std::min<std::size_t>(running_max_, running_.size()) &&
         num_blocks >= pool_.blocks_for(sequence.token_ids.size() + 1) + num_first;
}

// The last sequence of the rollout that runs the most, of several such rollouts the newest; none if no
// rollout runs two.
Scheduler::Queue::iterator Scheduler::who_gives_way() {
  auto found = running_.end();
  std::size_t num = 0, most = 2;
  for (auto at = running_.begin(); at != running_.end(); ++at) {
    const bool is_next_of_one = at != running_.begin() && std::prev(at)->first.first == at->first.first;
    num = is_next_of_one ? num + 1 : 1;
    if (num < most) continue;
    most = num;
    found = at;
  }
  return found;
}

// By turns. The first that finds no blocks ends it.
void Scheduler::admit(ScheduledStep& step, std::uint32_t& budget) {
  if (budget == 0 || running_.size() >= running_max_ || waiting_.empty()) return;
  auto coming = coming_prefixes();
  for (const auto& key : waiting_in_turn()) {
    if (budget == 0 || running_.size() >= running_max_) return;
    Sequence& sequence = *waiting_.at(key);
    if (is_coming(coming, sequence)) continue;
    if (!take_blocks(sequence, step)) return;
    schedule_tokens(step, start(key), budget);
    coming.push_back(coming_of(sequence));
  }
}

// A rollout that runs two sequences already begins with its third turn.
std::vector<QueueKey> Scheduler::waiting_in_turn() const {
  std::vector<std::pair<std::uint32_t, QueueKey>> turns;
  for (const auto& key : waiting_ | std::views::keys) {
    const bool is_next_of_one = !turns.empty() && turns.back().second.first == key.first;
    turns.emplace_back(is_next_of_one ? turns.back().first + 1 : num_running(key.first), key);
  }
  std::ranges::stable_sort(turns, {}, [](const auto& turn) { return turn.first; });
  std::vector<QueueKey> keys;
  for (const auto& turn : turns) keys.push_back(turn.second);
  return keys;
}

// It has its blocks.
Sequence& Scheduler::start(QueueKey key) {
  auto entry = waiting_.extract(key);
  Sequence& sequence = *entry.mapped();
  sequence.was_admitted = true;
  running_.insert(std::move(entry));
  return sequence;
}

// Blocks for all its tokens and the next one, beside one more for each that runs: it should not
// be preempted as soon as they grow.
bool Scheduler::take_blocks(Sequence& sequence, ScheduledStep& step) {
  const std::span<const TokenId> ids(sequence.token_ids);
  BlockPool::Prefix prefix;
  std::optional<StateSlot> kept;
  // The last token is computed in any case: its logits are needed.
  const bool may_share = options_.share_prefixes && !sequence.wants_prompt_rows();
  if (may_share) prefix = acquire_shared(ids.first(ids.size() - 1), kept);
  const std::size_t num_shared = prefix.blocks.size();
  const std::size_t num_new = pool_.blocks_for(ids.size() + 1) - num_shared;
  sequence.blocks = std::move(prefix.blocks);
  if (states_ != nullptr) sequence.state = states_->take();
  const bool lacks_state = states_ != nullptr && !sequence.state;
  if (lacks_state || pool_.num_available() < num_new + running_.size()) {
    release_blocks(sequence);
    return false;
  }
  if (kept) step.resumes.push_back({*kept, *sequence.state});
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

// With recurrent layers the longest prefix of which a state is kept, the slot it is kept in, or nothing.
BlockPool::Prefix Scheduler::acquire_shared(std::span<const TokenId> ids, std::optional<StateSlot>& kept) {
  BlockPool::Prefix prefix = pool_.acquire_prefix(ids);
  if (states_ == nullptr) return prefix;
  for (; !prefix.blocks.empty(); prefix.blocks.pop_back()) {
    prefix.id = pool_.prefix_of(prefix.blocks.back());
    kept = states_->find(prefix.id);
    if (kept) return prefix;
    pool_.release(prefix.blocks.back());
  }
  prefix.id = 0;
  return prefix;
}

// Made once for all that wait: comparing the tokens of each with each would take longer than a step.
std::vector<Scheduler::ComingPrefix> Scheduler::coming_prefixes() const {
  std::vector<ComingPrefix> coming;
  for (const auto& running : running_ | std::views::values)
    if (const auto prefix = coming_of(*running); prefix.num_blocks > 0) coming.push_back(prefix);
  return coming;
}

// Up to the block that it computes next, with recurrent layers up to where its state is kept; none if it computes
// only a part of it, or decodes.
Scheduler::ComingPrefix Scheduler::coming_of(const Sequence& running) const {
  const std::uint32_t boundary = prompt_boundary(running);
  if (states_ != nullptr && running.num_computed >= boundary) return {};
  const std::uint32_t end = states_ != nullptr ? boundary : running.num_computed + pool_.block_tokens();
  const std::size_t num_blocks = end / pool_.block_tokens();
  if (running.num_remaining() <= 1 || num_blocks > running.prefix_hashes.size()) return {};
  return {num_blocks, running.prefix_hashes[num_blocks - 1]};
}

// Whether a running sequence is about to compute whole blocks that this one begins with. Two prefixes of
// one hash are a wait too many, nothing worse.
bool Scheduler::is_coming(const std::vector<ComingPrefix>& coming, const Sequence& sequence) const {
  if (sequence.wants_prompt_rows()) return false;   // it would not take them
  const std::size_t shareable = (sequence.token_ids.size() - 1) / pool_.block_tokens();
  return std::ranges::any_of(coming, [&](const ComingPrefix& prefix) {
    return prefix.num_blocks > 0 && prefix.num_blocks <= shareable &&
           sequence.prefix_hashes[prefix.num_blocks - 1] == prefix.hash;
  });
}
}  // namespace corisco::engine
