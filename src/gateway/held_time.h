// How long an attempt has waited for the daemon: the time in which at least one of its calls was
// held, so that parallel calls don't count twice. Io thread only.
#pragma once
#include <cstdint>

#include "corisco/base/assert.h"
#include "corisco/base/clock.h"

namespace corisco::gateway {
class HeldTime {
 public:
  void begin(TimePoint now) {
    if (num_held_++ == 0) since_ = now;
  }
  void end(TimePoint now) {
    CORISCO_ASSERT(num_held_ > 0, std::string("a call stops waiting that did not wait"));
    if (--num_held_ == 0) seconds_ += seconds_between(since_, now);
  }
  double seconds(TimePoint now) const {
    return seconds_ + (num_held_ > 0 ? seconds_between(since_, now) : 0.0);
  }

 private:
  std::uint32_t num_held_ = 0;
  TimePoint since_{};
  double seconds_ = 0;
};
}  // namespace corisco::gateway
