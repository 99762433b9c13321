// Values: verl's losses run in float64 on CPU on the inputs below, their rollout-mean and capped
// variants by autograd on the same inputs; derivatives also by finite differences.
#include "trainer/loss.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace corisco::trainer {
namespace {
constexpr int kRows = 4, kTokens = 5;
constexpr std::array<const char*, kRows> kMask = {"11111", "11100", "10011", "11000"};
constexpr std::array<double, kRows> kAdvantage = {.70710578, -.70710578, .70710428, -.70710428};
constexpr std::array<int, kRows> kRollout = {0, 1, 1, 2};

TokenInput token(int i, int t) {
  TokenInput input;
  input.old_logprob = -(0.2 + 0.15 * i + 0.1 * t);
  input.logprob = input.old_logprob + 0.05 * (t - 2) * (i % 2 ? -1 : 1);
  if (i == 0 && t == 4) input.logprob += 0.3;
  if (i == 1 && t == 2) input.logprob -= 0.4;
  input.sampled_logprob = input.old_logprob - 0.02 * (i + 1) + 0.01 * t;
  input.reference_logprob = input.old_logprob + 0.03 * (t - 1);
  input.advantage = kAdvantage[static_cast<std::size_t>(i)];
  return input;
}

struct Total {
  double loss = 0, clipped = 0, kl = 0;
  std::array<std::array<double, kTokens>, kRows> gradient{};
};

// weight(i): of every trained token of row i.
template <class Weight>
Total total(const LossOptions& options, Weight weight, bool is_bypassed = false) {
  Total sum;
  for (int i = 0; i < kRows; ++i)
    for (int t = 0; t < kTokens; ++t) {
      if (kMask[static_cast<std::size_t>(i)][t] == '0') continue;
      TokenInput input = token(i, t);
      if (is_bypassed) input.old_logprob = input.sampled_logprob;
      const TokenLoss loss = token_loss(input, options);
      sum.loss += weight(i) * loss.loss;
      sum.kl += weight(i) * loss.kl_reference;
      sum.clipped += loss.is_clipped;
      sum.gradient[static_cast<std::size_t>(i)][static_cast<std::size_t>(t)] = weight(i) * loss.gradient;
    }
  return sum;
}
double token_mean(int) { return 1.0 / 13; }
// Trained tokens of the rollouts: 5, 3 + 3, 2.
double rollout_mean(int row) {
  constexpr std::array<double, 3> kTrained = {5, 6, 2};
  return 1 / (3 * kTrained[static_cast<std::size_t>(kRollout[static_cast<std::size_t>(row)])]);
}
constexpr LossOptions kPlain{.clip_low = .2, .clip_high = .28, .dual_clip = 3};

TEST(Loss, TokenMean) {
  const Total sum = total(kPlain, token_mean);
  EXPECT_NEAR(sum.loss, -.17056106, 1e-6);
  EXPECT_NEAR(sum.clipped / 13, .153846, 1e-6);
  const std::array<std::array<double, kTokens>, kRows> wanted = {
      {{-.0492166, -.05173999, -.05439275, -.05718153, 0},
       {.06011329, .05718153, 0, 0, 0},
       {-.04921649, 0, 0, -.05718141, -.06011316},
       {.06011316, .05718141, 0, 0, 0}}};
  for (std::size_t i = 0; i < kRows; ++i)
    for (std::size_t t = 0; t < kTokens; ++t)
      EXPECT_NEAR(sum.gradient[i][t], wanted[i][t], 1e-6) << i << ' ' << t;
}

TEST(Loss, RolloutMean) {
  const Total sum = total(kPlain, rollout_mean);
  EXPECT_NEAR(sum.loss, .00548698, 1e-6);
  EXPECT_NEAR(sum.gradient[0][0], -.04265438, 1e-6);
  EXPECT_NEAR(sum.gradient[1][0], .04341515, 1e-6);
  EXPECT_NEAR(sum.gradient[2][0], -.03554525, 1e-6);
  EXPECT_NEAR(sum.gradient[3][0], .13024518, 1e-6);
}

TEST(Loss, CorrectionIsCappedAndConstant) {
  LossOptions options = kPlain;
  options.is_corrected = true;
  options.correction_cap = 1.03;
  const Total tokens = total(options, token_mean);
  EXPECT_NEAR(tokens.loss, -.16661729, 1e-6);
  EXPECT_NEAR(tokens.gradient[0][0], -.05021084, 1e-6);
  EXPECT_NEAR(tokens.gradient[1][0], .06191669, 1e-6);
  EXPECT_NEAR(tokens.gradient[2][0], -.05069299, 1e-6);
  EXPECT_NEAR(tokens.gradient[3][0], .06191656, 1e-6);
  const Total rollouts = total(options, rollout_mean);
  EXPECT_NEAR(rollouts.loss, .01348062, 1e-6);
  EXPECT_NEAR(rollouts.gradient[0][0], -.04351606, 1e-6);
  EXPECT_NEAR(rollouts.gradient[3][0], .13415254, 1e-6);
}

TEST(Loss, SampledLogprobsAsOldOnesAreNotCorrectedAgain) {
  const Total sum = total(kPlain, token_mean, true);
  EXPECT_NEAR(sum.loss, -.16415804, 1e-6);
  EXPECT_NEAR(sum.gradient[3][0], .06511981, 1e-6);
}

TEST(Loss, DualClipBoundsARunawayToken) {
  const TokenLoss loss = token_loss({.logprob = -.5, .old_logprob = -3, .advantage = -1}, kPlain);
  EXPECT_DOUBLE_EQ(loss.loss, 3);
  EXPECT_EQ(loss.gradient, 0);
  EXPECT_TRUE(loss.is_clipped);
  LossOptions off = kPlain;
  off.dual_clip = 0;
  EXPECT_NEAR(token_loss({.logprob = -.5, .old_logprob = -3, .advantage = -1}, off).loss, std::exp(2.5),
              1e-12);
}

TEST(Loss, DivergenceFromTheReference) {
  LossOptions options = kPlain;
  options.kl_coefficient = 1;
  const Total sum = total(options, token_mean);
  EXPECT_NEAR(sum.kl, .01355741, 1e-6);
  const double without = total(kPlain, token_mean).gradient[0][0];
  EXPECT_NEAR(sum.gradient[0][0] - without, -.00557755, 1e-6);
  EXPECT_NEAR(sum.loss, -.17056106 + .01355741, 1e-6);
}

TEST(Loss, TiesAndBoundsPassTheWholeGradient) {
  EXPECT_DOUBLE_EQ(token_loss({.logprob = -1, .old_logprob = -1, .advantage = 2}, kPlain).gradient, -2);
  LossOptions options = kPlain;
  options.clip_high = std::exp(.25) - 1;
  const TokenLoss on_bound = token_loss({.logprob = -.75, .old_logprob = -1, .advantage = 1}, options);
  EXPECT_NEAR(on_bound.gradient, -std::exp(.25), 1e-12);
}

TEST(Loss, DerivativeEqualsFiniteDifferences) {
  LossOptions options{.clip_low = .2,
                      .clip_high = .28,
                      .dual_clip = 3,
                      .correction_cap = 2,
                      .kl_coefficient = .1,
                      .is_corrected = true};
  constexpr double kStep = 1e-6;
  for (const double advantage : {-1.5, -.2, .7})
    for (const double difference : {-30., -1., -.25, -.1, .03, .2, .4, 1.3, 30.}) {
      TokenInput input{
          .old_logprob = -1.2, .sampled_logprob = -1.5, .reference_logprob = -1, .advantage = advantage};
      const auto at = [&](double shift) {
        input.logprob = input.old_logprob + difference + shift;
        return token_loss(input, options);
      };
      const double slope = (at(kStep).loss - at(-kStep).loss) / (2 * kStep);
      EXPECT_NEAR(at(0).gradient, slope, 1e-6 * (1 + std::abs(slope))) << advantage << ' ' << difference;
    }
}

TEST(Loss, ABrokenLogprobIsSeenByTheFiniteCheck) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double broken : {-kInfinity, kInfinity, std::nan("")})
    EXPECT_TRUE(
        std::isnan(token_loss({.logprob = broken, .old_logprob = -1, .advantage = 0}, kPlain).gradient));
}
}  // namespace
}  // namespace corisco::trainer
