#include "token_delay.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace corisco::bench {
namespace {
double within(double value, double period) {
  const double rest = std::fmod(value, period);
  return rest < 0 ? rest + period : rest;
}

// When the stream's first token would have come, had its earliest one set the schedule.
double best_start(const std::vector<double>& arrivals, double period) {
  double best = arrivals.front();
  for (std::size_t i = 1; i < arrivals.size(); ++i)
    best = std::min(best, arrivals[i] - static_cast<double>(i) * period);
  return best;
}

// Where the arc of points on the circle begins: after the widest gap.
double arc_begin(std::vector<double> points, double period) {
  std::sort(points.begin(), points.end());
  double begin = points.front();
  double widest = points.front() + period - points.back();
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (points[i] - points[i - 1] <= widest) continue;
    widest = points[i] - points[i - 1];
    begin = points[i];
  }
  return begin;
}
}  // namespace

TokenDelays token_delays(const std::vector<std::vector<double>>& arrivals, double period) {
  std::vector<double> points;
  for (const auto& stream : arrivals)
    if (!stream.empty()) points.push_back(within(best_start(stream, period), period));
  TokenDelays delays;
  if (points.empty()) return delays;
  const double step = arc_begin(points, period);
  for (const auto& stream : arrivals) {
    if (stream.empty()) continue;
    const double start = best_start(stream, period);
    const double first_step = start - within(start - step, period);
    for (std::size_t i = 0; i < stream.size(); ++i)
      delays.all.push_back(stream[i] - first_step - static_cast<double>(i) * period);
    delays.first.push_back(stream.front() - first_step);
  }
  return delays;
}
}  // namespace corisco::bench
