// Which tokens of which sequences the next forward pass computes: schedule -> run -> update.
// A pure state machine on the device thread: no torch, no clock, no threads, no randomness.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "corisco/base/id.h"
#include "corisco/types/call.h"
#include "engine/block_pool.h"
#include "engine/sequence.h"

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
};

struct ScheduledStep {
  std::vector<ScheduledRow> rows;
  std::uint32_t num_preempted = 0;
};

// What the run made of a row that draws.
struct Draw {
  std::optional<TokenId> id;          // none: the sequence ends without a token (an error)
  bool ends = false;                  // with this token
};

struct SchedulerCounts {
  std::uint64_t num_preempted = 0;
  std::uint64_t num_reused_prompt_tokens = 0;
};

class Scheduler {
 public:
  Scheduler(SchedulerOptions options, BlockPool& pool);

  // The prompt is not empty, and with one more token fits the pool.
  void add(RequestId id, std::uint64_t queue_order, std::vector<TokenId> prompt_ids);
  void cancel(RequestId id);          // unknown ids are ignored: it may have just ended
  // Decoding sequences first, then prompt chunks of the running, then new sequences, within the
  // token budget. May take blocks back from the last in the queue order (they recompute).
  ScheduledStep schedule();
  // draws: one for each row that draws, in order. The pointers of the step are void after it.
  void update(const ScheduledStep& step, const std::vector<Draw>& draws);
  // Every running sequence waits again, without blocks; its tokens stay.
  void suspend_all();

  std::uint32_t num_waiting() const { return static_cast<std::uint32_t>(waiting_.size()); }
  std::uint32_t num_running() const { return static_cast<std::uint32_t>(running_.size()); }
  const SchedulerCounts& counts() const { return counts_; }

 private:
  using Queue = std::map<QueueKey, std::unique_ptr<Sequence>>;
  void reserve_growth(ScheduledStep& step);
  bool grow(Sequence& sequence);
  void admit(ScheduledStep& step, std::uint32_t& budget);
  bool take_blocks(Sequence& sequence);
  bool prefix_is_coming(const Sequence& sequence) const;
  void record_full_blocks(Sequence& sequence);
  void release_blocks(Sequence& sequence);
  void suspend(Queue::iterator running);

  const SchedulerOptions options_;
  const std::uint32_t running_max_;
  BlockPool& pool_;
  std::uint64_t last_arrival_ = 0;
  Queue waiting_, running_;           // by key
  std::unordered_map<RequestId, QueueKey> keys_;
  SchedulerCounts counts_;
};
}  // namespace corisco::engine
