// The attempts that may call the model now: key -> attempt, what it has called so far, its caps.
// Owned by the io thread. Opened and closed by the rollouts module through app.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "corisco/base/clock.h"
#include "corisco/types/rollout.h"

namespace corisco::gateway {
// What the sampling key needs (DESIGN.md section 4, invariant 8).
struct AttemptOpening {
  AttemptKey attempt;
  Mode mode = Mode::train;
  std::uint64_t task_occurrence = 0;
  std::uint32_t sibling = 0;
  std::uint64_t salt = 0;              // changes only after an infrastructure failure
  std::uint64_t queue_order = 0;
  double opened_unix_seconds = 0;      // the template's clock, frozen
};

// What the rollouts module asks at the end of an attempt.
struct AttemptSummary {
  std::uint32_t num_calls = 0;
  std::uint32_t num_delivered = 0;
  bool hit_call_cap = false;
  bool hit_length = false;             // its last call ended by length
  bool hit_context = false;            // its last call did not fit the context
  bool saw_engine_error = false;
  double held_seconds = 0;             // at the gate and in the engine's queue: not counted as running
};

struct AttemptState;                   // private to the gateway: calls, prompts seen, running requests

class Attempts {
 public:
  explicit Attempts(const Clock& clock = real_clock());
  ~Attempts();
  Attempts(const Attempts&) = delete;
  Attempts& operator=(const Attempts&) = delete;

  // Returns the attempt's secret key ("cor-" and 40 hex digits).
  std::string open(const AttemptOpening& opening);
  // Cancels its running requests; later ones with its key get 401, by its path 409.
  AttemptSummary close(AttemptKey attempt);
  // Held time includes that of calls which wait now. All zero for an attempt that is not open.
  AttemptSummary summary(AttemptKey attempt) const;

  // Decoding stops for an update or a checkpoint, or goes on: for calls under way that is held time.
  void set_suspended(bool is_suspended);

  // Null unless open.
  std::shared_ptr<AttemptState> by_key(const std::string& key) const;
  std::shared_ptr<AttemptState> by_path(AttemptKey attempt) const;
  // Not open, but it or a later rollout's was.
  bool was_closed(AttemptKey attempt) const;
  std::size_t size() const { return by_attempt_.size(); }

 private:
  const Clock& clock_;
  std::map<AttemptKey, std::shared_ptr<AttemptState>> by_attempt_;
  // By the key's SHA-256, so that the time of a look-up tells nothing about a key.
  std::unordered_map<std::string, std::shared_ptr<AttemptState>> by_key_hash_;
  RolloutId newest_;
};
}  // namespace corisco::gateway
