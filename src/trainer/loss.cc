#include "trainer/loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace corisco::trainer {
namespace {
constexpr double kLogRatioMax = 20;  // keeps exp finite; a ratio beyond it has no gradient
constexpr double kDivergenceMax = 10;

struct Term {
  double value = 0, gradient = 0;
};

Term clipped_objective(double log_ratio, double advantage, const LossOptions& options, bool& is_clipped) {
  const double ratio = std::exp(std::clamp(log_ratio, -kLogRatioMax, kLogRatioMax));
  const double slope = std::abs(log_ratio) <= kLogRatioMax ? ratio : 0;
  const double unclipped = -advantage * ratio;
  const double clipped = -advantage * std::clamp(ratio, 1 - options.clip_low, 1 + options.clip_high);
  Term term{unclipped, -advantage * slope};
  if (clipped > unclipped) {
    term = {clipped, 0};
    is_clipped = true;
  }
  if (options.dual_clip > 0 && advantage < 0 && term.value > -advantage * options.dual_clip) {
    term = {-advantage * options.dual_clip, 0};
    is_clipped = true;
  }
  return term;
}

double correction(const TokenInput& token, const LossOptions& options) {
  if (!options.is_corrected) return 1;
  const double log_ratio = std::clamp(token.old_logprob - token.sampled_logprob, -kLogRatioMax, kLogRatioMax);
  return std::min(std::exp(log_ratio), options.correction_cap);
}

Term divergence(double difference) {
  const double bounded = std::clamp(difference, -kLogRatioMax, kLogRatioMax);
  const double value = std::exp(-bounded) + bounded - 1;
  if (value > kDivergenceMax) return {kDivergenceMax, 0};
  return {value, bounded == difference ? 1 - std::exp(-bounded) : 0};
}
}  // namespace

TokenLoss token_loss(const TokenInput& token, const LossOptions& options) {
  TokenLoss result;
  const Term policy =
      clipped_objective(token.logprob - token.old_logprob, token.advantage, options, result.is_clipped);
  const double weight = correction(token, options);
  result.loss = weight * policy.value;
  result.gradient = weight * policy.gradient;
  if (options.kl_coefficient > 0) {
    const Term kl = divergence(token.logprob - token.reference_logprob);
    result.kl_reference = kl.value;
    result.loss += options.kl_coefficient * kl.value;
    result.gradient += options.kl_coefficient * kl.gradient;
  }
  if (!std::isfinite(token.logprob)) result.gradient = std::numeric_limits<double>::quiet_NaN();
  return result;
}
}  // namespace corisco::trainer
