// Whether the engine gets on with its work, for /readyz: it is stuck if it has work and has made no step for
// a while. Told the time, so that it waits for nothing. Io thread.
#pragma once
#include <cstdint>

#include "corisco/base/clock.h"

namespace corisco::app {
class EngineWatch {
 public:
  static constexpr double kSilentSecondsMax = 60;

  // is_working: it has live sequences, and nothing else, such as an update, keeps it from decoding.
  void look(std::uint64_t num_steps, bool is_working, TimePoint now) {
    if (num_steps == num_steps_ && is_working) return;
    num_steps_ = num_steps;
    progress_at_ = now;
  }
  bool is_stuck(TimePoint now) const { return seconds_between(progress_at_, now) >= kSilentSecondsMax; }

 private:
  std::uint64_t num_steps_ = 0;
  TimePoint progress_at_{};
};
}  // namespace corisco::app
