#include "corisco/trainer/advantage.h"

#include <cmath>
#include <limits>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"

namespace corisco::trainer {
namespace {
constexpr double kDeviationFloor = 1e-6;

struct Moments {
  std::size_t count = 0;
  double mean = 0, deviation = 0;
  bool is_constant = true;
};

// Two passes: one pass loses the spread of nearly equal rewards. Equality is decided on the
// rewards themselves, because the rounded mean of equal numbers need not equal them.
Moments moments(std::span<const double> rewards, const std::vector<bool>& is_valid) {
  Moments result;
  double least = std::numeric_limits<double>::infinity(), most = -least, sum = 0;
  for (std::size_t i = 0; i < rewards.size(); ++i) {
    if (!is_valid[i]) continue;
    CORISCO_ASSERT(std::isfinite(rewards[i]), cat("reward ", rewards[i], " of sibling ", i));
    least = std::min(least, rewards[i]);
    most = std::max(most, rewards[i]);
    sum += rewards[i];
    ++result.count;
  }
  if (result.count < 2 || least == most) return result;
  result.is_constant = false;
  const auto count = static_cast<double>(result.count);
  result.mean = sum / count;
  double squares = 0;
  for (std::size_t i = 0; i < rewards.size(); ++i)
    if (is_valid[i]) squares += (rewards[i] - result.mean) * (rewards[i] - result.mean);
  result.deviation = std::sqrt(squares / (count - 1));
  return result;
}

double factor(const Moments& group, AdvantageKind kind) {
  const auto count = static_cast<double>(group.count);
  switch (kind) {
    case AdvantageKind::grpo: return 1 / (group.deviation + kDeviationFloor);
    case AdvantageKind::grpo_no_std: return 1;
    case AdvantageKind::rloo: return count / (count - 1);
  }
  CORISCO_ASSERT(false, cat("advantage kind ", static_cast<int>(kind)));
}
}  // namespace

AdvantageKind advantage_kind(const std::string& name) {
  if (name == "grpo") return AdvantageKind::grpo;
  if (name == "grpo_no_std") return AdvantageKind::grpo_no_std;
  CORISCO_ASSERT(name == "rloo", cat("advantage kind '", name, "' passed the config's check"));
  return AdvantageKind::rloo;
}

std::vector<double> group_advantages(std::span<const double> rewards, const std::vector<bool>& is_valid,
                                     AdvantageKind kind) {
  CORISCO_ASSERT(rewards.size() == is_valid.size(),
                 cat(rewards.size(), " rewards, ", is_valid.size(), " flags"));
  std::vector<double> advantages(rewards.size(), 0.0);
  const Moments group = moments(rewards, is_valid);
  if (group.is_constant) return advantages;
  const double scale = factor(group, kind);
  for (std::size_t i = 0; i < rewards.size(); ++i)
    if (is_valid[i]) advantages[i] = (rewards[i] - group.mean) * scale;
  return advantages;
}
}  // namespace corisco::trainer
