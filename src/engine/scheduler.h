// Which tokens of which sequences the next forward pass computes: schedule -> run -> update.
// A pure state machine on the device thread: no torch, no clock, no threads, no randomness.
//
// Who goes first. Sequences of one queue order are one rollout's. A rollout that runs nothing is let in
// before any rollout gets another place, the oldest first, and if it finds no place or no blocks, the
// rollout with the most running sequences gives up its last one (of several such rollouts the newest;
// never one's only sequence). Other places go round robin: each rollout's next sequence, oldest rollout
// first, before anyone's one after. Prompts share a step's tokens by the same turns. So agents that ask
// one thing at a time are served strictly oldest first, and who asks 64 at once cannot hold up the others.
// A sequence that gives up its place keeps its tokens, and computes again what the cache has lost.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "corisco/base/id.h"
#include "corisco/types/call.h"
#include "engine/block_pool.h"
#include "engine/sequence.h"
#include "engine/state_pool.h"

namespace corisco::engine {
struct SchedulerOptions {
  std::uint32_t sequences_max = 64;
  std::uint32_t step_tokens_max = 512;
  bool share_prefixes = true;
};

// Tokens first .. first + num_tokens - 1 of one sequence.
struct ScheduledRow {
  const Sequence* sequence = nullptr;
  std::uint32_t first = 0;
  std::uint32_t num_tokens = 0;
  bool draws = false;                 // its last token is the sequence's last: the next is drawn
  std::optional<StateSlot> saves_to{};   // its state is copied there after the pass
  std::uint32_t num_scored = 0;       // of its first tokens, each followed by one of a prompt that is scored
};

struct ScheduledStep {
  std::vector<ScheduledRow> rows;
  std::vector<StateCopy> resumes;     // before the pass, in this order: a slot may be read, then written
  std::uint32_t num_preempted = 0;    // that lost their blocks, for others' growth or places
};

// What the run made of a row that draws.
struct Draw {
  std::optional<TokenId> id;          // none: the sequence ends without a token (an error, or it wanted none)
  bool ends = false;                  // with this token
};

struct SchedulerCounts {
  std::uint64_t num_preempted = 0;
  std::uint64_t num_reused_prompt_tokens = 0;
};

class Scheduler {
 public:
  // states: null for a decoder without recurrent layers. With them a prefix is shared only up to where a state is
  // kept: the last whole block of a prompt, and of what a sequence has drawn so far.
  Scheduler(SchedulerOptions options, BlockPool& pool, StatePool* states = nullptr);

  // The prompt is not empty, and with one more token fits the pool.
  // scores_prompt: each row of the prompt is computed, also of one that is cached.
  void add(RequestId id, std::uint64_t queue_order, std::vector<TokenId> prompt_ids, bool scores_prompt = false);
  void cancel(RequestId id);          // unknown ids are ignored: it may have just ended
  // Decoding sequences first, then prompt chunks of the running, then new sequences, within the
  // token budget. May take blocks back from running sequences (they recompute).
  ScheduledStep schedule();
  // draws: one for each row that draws, in order. The pointers of the step are void after it.
  void update(const ScheduledStep& step, const std::vector<Draw>& draws);
  // Every running sequence waits again, without blocks; its tokens stay.
  void suspend_all();

  std::uint32_t num_waiting() const { return static_cast<std::uint32_t>(waiting_.size()); }
  std::uint32_t num_running() const { return static_cast<std::uint32_t>(running_.size()); }
  std::uint32_t num_running(std::uint64_t queue_order) const;   // of that rollout
  const SchedulerCounts& counts() const { return counts_; }

 private:
  using Queue = std::map<QueueKey, std::unique_ptr<Sequence>>;
  // The first tokens of a prompt, in whole blocks, that a running sequence computes next.
  struct ComingPrefix {
    std::size_t num_blocks = 0;
    std::uint64_t hash = 0;
  };
  void schedule_prompts(ScheduledStep& step, std::uint32_t& budget);
  void schedule_tokens(ScheduledStep& step, Sequence& sequence, std::uint32_t& budget);
  bool reserve_growth(ScheduledStep& step);
  bool grow(Sequence& sequence);
  std::uint32_t prompt_boundary(const Sequence& sequence) const;
  void save_state(Sequence& sequence, ScheduledRow& row);
  void keep_state(Sequence& sequence);
  void record_full_blocks(Sequence& sequence);
  void release_blocks(Sequence& sequence);
  void hash_full_blocks(Sequence& sequence) const;
  void suspend(Queue::iterator running);
  void preempt(Queue::iterator running, ScheduledStep& step);

  // scheduler_admission.cc
  bool admit_idle_rollouts(ScheduledStep& step);
  std::uint64_t tokens_of_first_sequences() const;
  bool make_room(Sequence& sequence, ScheduledStep& step);
  bool could_make_room(const Sequence& sequence) const;
  Queue::iterator who_gives_way();
  void admit(ScheduledStep& step, std::uint32_t& budget);
  std::vector<QueueKey> waiting_in_turn() const;
  Sequence& start(QueueKey key);
  bool take_blocks(Sequence& sequence, ScheduledStep& step);
  BlockPool::Prefix acquire_shared(std::span<const TokenId> ids, std::optional<StateSlot>& kept);
  std::vector<ComingPrefix> coming_prefixes() const;
  bool is_coming(const std::vector<ComingPrefix>& coming, const Sequence& sequence) const;
  ComingPrefix coming_of(const Sequence& running) const;

  const SchedulerOptions options_;
  const std::uint32_t running_max_;
  BlockPool& pool_;
  StatePool* const states_;
  std::uint64_t last_arrival_ = 0;
  Queue waiting_, running_;           // by key
  std::unordered_map<RequestId, QueueKey> keys_;
  SchedulerCounts counts_;
};
}  // namespace corisco::engine
