// Time as an interface: the real one, and one that tests and the simulator move by hand.
#pragma once
#include <chrono>

namespace corisco {
using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

struct Clock {
  virtual TimePoint now() const = 0;             // monotonic: deadlines and durations
  virtual double unix_seconds() const = 0;       // wall time: records for people
  virtual ~Clock() = default;
};

const Clock& real_clock();

class ManualClock final : public Clock {
 public:
  TimePoint now() const override { return now_; }
  double unix_seconds() const override {
    return 1.7e9 + std::chrono::duration<double>(now_.time_since_epoch()).count();
  }
  void advance(Duration step) { now_ += step; }

 private:
  TimePoint now_{};
};

inline double seconds_between(TimePoint from, TimePoint to) {
  return std::chrono::duration<double>(to - from).count();
}
}  // namespace corisco
