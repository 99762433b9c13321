// The attempts that ended elsewhere, for those who read them over HTTP: in the order of their ends, the
// last ones only. Owned by the controller; io thread; pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "corisco/types/rollout.h"

namespace corisco::rollouts {
class FinishedLog {
 public:
  struct Limits {
    std::size_t entries_max = 4096;
    std::size_t bytes_max = 16U << 20;   // of tasks and notes
  };
  FinishedLog() : FinishedLog(Limits{}) {}
  explicit FinishedLog(Limits limits) : limits_(limits) {}

  void add(RolloutStatus ended);
  void forget(AttemptKey attempt);       // its number stays taken
  const RolloutStatus* find(AttemptKey attempt) const;
  // Ends are numbered from 0; those numbered after and on, at most limit numbers.
  FinishedPage page(std::uint64_t after, std::size_t limit) const;

 private:
  void drop_first();

  Limits limits_;
  std::deque<std::optional<RolloutStatus>> entries_;
  std::map<AttemptKey, std::uint64_t> numbers_;
  std::uint64_t first_ = 0;              // number of entries_[0]
  std::size_t bytes_ = 0;
};
}  // namespace corisco::rollouts
