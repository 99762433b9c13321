// How often an attempt may call the model: a sliding minute. Each call gets its place in time when it
// arrives, so calls that wait go in the order of their arrival. Owned by the attempt; io thread; pure.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>

#include "corisco/base/clock.h"

namespace corisco::gateway {
class CallRate {
 public:
  static constexpr Duration kWindow = std::chrono::minutes(1);

  // The earliest moment from now on at which one more call leaves at most max in any window.
  // That moment is the call's from here on.
  TimePoint reserve(TimePoint now, std::uint32_t max);
  // The call that was to go then is not made.
  void release(TimePoint moment);

 private:
  std::deque<TimePoint> moments_;        // rising: of calls in the last window, and of those that wait
};
}  // namespace corisco::gateway
