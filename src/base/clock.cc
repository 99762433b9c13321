#include "corisco/base/clock.h"

namespace corisco {
namespace {
struct RealClock final : Clock {
  TimePoint now() const override { return std::chrono::steady_clock::now(); }
  double unix_seconds() const override {
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration<double>(since).count();
  }
};
}  // namespace

const Clock& real_clock() {
  static const RealClock clock;
  return clock;
}
}  // namespace corisco
