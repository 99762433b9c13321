#include "trainer/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace corisco::trainer {
namespace {
constexpr double kFloor = 0.1;

// 0 at the end of the warm-up, 1 at the last update and after it.
double fraction_done(const Schedule& schedule, std::uint64_t update) {
  if (schedule.num_updates <= schedule.warmup_updates + 1) return 0;
  const auto length = static_cast<double>(schedule.num_updates - 1 - schedule.warmup_updates);
  return std::min(1.0, static_cast<double>(update - schedule.warmup_updates) / length);
}
}  // namespace

double learning_rate(const Schedule& schedule, std::uint64_t update) {
  if (update < schedule.warmup_updates)
    return schedule.peak * static_cast<double>(update + 1) / static_cast<double>(schedule.warmup_updates);
  if (schedule.kind == "constant") return schedule.peak;
  const double done = fraction_done(schedule, update);
  const double height = schedule.kind == "linear" ? 1 - done : (1 + std::cos(std::numbers::pi * done)) / 2;
  return schedule.peak * (kFloor + (1 - kFloor) * height);
}
}  // namespace corisco::trainer
