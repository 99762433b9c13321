// The calls of finished rollouts that somebody opened over HTTP, for as long as there is room: their
// harness's owner reads them after the end. Owned by the io thread.
#pragma once
#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <vector>

#include "corisco/types/rollout.h"

namespace corisco::app {
class KeptCalls {
 public:
  explicit KeptCalls(std::size_t bytes_max = 64U << 20) : bytes_max_(bytes_max) {}

  void expect(RolloutId rollout) { expected_.insert(rollout); }
  // Ignored unless expected.
  void keep(const FinishedRollout& finished);
  void forget(RolloutId rollout);
  // Null: not kept, or no longer.
  const std::vector<Call>* find(RolloutId rollout) const;

 private:
  struct Entry {
    RolloutId rollout;
    std::vector<Call> calls;
    std::size_t bytes = 0;
  };
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::set<RolloutId> expected_;         // open ones
  std::deque<Entry> entries_;            // in the order of their ends
};
}  // namespace corisco::app
