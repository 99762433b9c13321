// Values: verl's estimators run in float64 on CPU, or by hand from the formula.
#include "corisco/trainer/advantage.h"

#include <gtest/gtest.h>

#include <cmath>

namespace corisco::trainer {
namespace {
std::vector<double> of(const std::vector<double>& rewards, AdvantageKind kind) {
  return group_advantages(rewards, std::vector<bool>(rewards.size(), true), kind);
}

void expect_near(const std::vector<double>& got, const std::vector<double>& wanted, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], wanted[i], tolerance) << "sibling " << i;
}

TEST(Advantage, MatchesTheReferenceEstimators) {
  expect_near(of({1, 0}, AdvantageKind::grpo), {.70710578, -.70710578}, 1e-8);
  expect_near(of({.6, .2}, AdvantageKind::grpo), {.70710428, -.70710428}, 1e-8);
  expect_near(of({1, 0}, AdvantageKind::grpo_no_std), {.5, -.5}, 1e-12);
  expect_near(of({.6, .2}, AdvantageKind::grpo_no_std), {.2, -.2}, 1e-12);
  expect_near(of({1, 0}, AdvantageKind::rloo), {1, -1}, 1e-12);
  expect_near(of({.6, .2}, AdvantageKind::rloo), {.4, -.4}, 1e-12);
}

TEST(Advantage, LeaveOneOutIsTheMeanOfTheOthers) {
  // 4 - (1 + 1) / 2, 1 - (4 + 1) / 2 twice.
  expect_near(of({4, 1, 1}, AdvantageKind::rloo), {3, -1.5, -1.5}, 1e-12);
}

TEST(Advantage, AConstantGroupIsExactlyZero) {
  const std::vector<std::vector<double>> groups = {std::vector<double>(8, .2), std::vector<double>(7, .1),
                                                   std::vector<double>(8, .7), std::vector<double>(3, 0)};
  for (const auto& rewards : groups)
    for (const auto kind : {AdvantageKind::grpo, AdvantageKind::grpo_no_std, AdvantageKind::rloo})
      for (const double advantage : of(rewards, kind)) EXPECT_EQ(advantage, 0.0) << rewards[0];
}

TEST(Advantage, ALoneRolloutIsExactlyZero) {
  EXPECT_EQ(of({.7}, AdvantageKind::grpo), std::vector<double>{0});
  EXPECT_EQ(of({.7}, AdvantageKind::rloo), std::vector<double>{0});
  EXPECT_TRUE(of({}, AdvantageKind::grpo).empty());
}

TEST(Advantage, NearlyEqualRewardsKeepTheirSpread) {
  // (d / 2) / (d / sqrt 2 + 1e-6) with the float32 spacings d of the two pairs.
  for (const float low : {1.0F, 2.0F}) {
    const double high = low + 0.00001F, d = high - low;
    const double wanted = d / 2 / (d / std::sqrt(2.0) + 1e-6);
    EXPECT_NEAR(wanted, .6196, 2e-4);
    expect_near(of({low, high}, AdvantageKind::grpo), {-wanted, wanted}, 1e-6);
  }
}

TEST(Advantage, OneOddRewardAmongEqualOnes) {
  // mean .3875, variance (7 * .0375^2 + .2625^2) / 7 = .01125.
  const auto got = of({.35, .35, .35, .35, .35, .35, .35, .65}, AdvantageKind::grpo);
  EXPECT_NEAR(got[7], .2625 / (std::sqrt(.01125) + 1e-6), 1e-9);
  EXPECT_NEAR(got[0], -.0375 / (std::sqrt(.01125) + 1e-6), 1e-9);
}

TEST(Advantage, InvalidRolloutsAreOutOfTheStatistics) {
  const std::vector<double> rewards = {1, std::nan(""), 0, 1e9};
  const auto got = group_advantages(rewards, {true, false, true, false}, AdvantageKind::grpo);
  expect_near(got, {.70710578, 0, -.70710578, 0}, 1e-8);
  EXPECT_EQ(got[1], 0.0);
  const auto alone = group_advantages(rewards, {true, false, false, false}, AdvantageKind::grpo);
  EXPECT_EQ(alone, std::vector<double>(4, 0.0));
}

TEST(Advantage, NamesAreThoseOfTheConfig) {
  EXPECT_EQ(advantage_kind("grpo"), AdvantageKind::grpo);
  EXPECT_EQ(advantage_kind("grpo_no_std"), AdvantageKind::grpo_no_std);
  EXPECT_EQ(advantage_kind("rloo"), AdvantageKind::rloo);
}
}  // namespace
}  // namespace corisco::trainer
