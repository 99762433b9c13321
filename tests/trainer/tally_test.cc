// What an update reports of the difference between trainer and engine: mismatch, and drift by age.
#include "trainer/tally.h"

#include <gtest/gtest.h>

namespace corisco::trainer {
namespace {
UpdateReport report_of(const Tally& tally) {
  UpdateReport report;
  tally.fill(report);
  return report;
}

// Of a token that was sampled with log-probability -1.
void add(Tally& tally, std::uint64_t age, double logprob) {
  tally.add_mismatch({.sampled_logprob = -1, .age = age}, logprob);
}

TEST(Tally, TellsDriftApartFromMismatchByAge) {
  Tally tally;
  add(tally, 0, -1.25);
  add(tally, 0, -1);
  add(tally, 1, -2);
  add(tally, 1, -0.5);
  add(tally, 3, -1.5);
  add(tally, 4, -3);
  add(tally, 9, -2);
  const auto report = report_of(tally);
  EXPECT_DOUBLE_EQ(report.mismatch_mean, 0.125);
  EXPECT_DOUBLE_EQ(report.mismatch_max, 0.25);
  EXPECT_DOUBLE_EQ(report.drift_means[0], 0.75);
  EXPECT_DOUBLE_EQ(report.drift_means[1], 0) << "no token was two versions old";
  EXPECT_DOUBLE_EQ(report.drift_means[2], 0.5);
  EXPECT_DOUBLE_EQ(report.drift_means[3], 1.5) << "all that are older";
}

TEST(Tally, HasNoMismatchWhereAllTokensAreOlder) {
  Tally tally;
  add(tally, 2, -1.5);
  const auto report = report_of(tally);
  EXPECT_EQ(report.mismatch_mean, 0);
  EXPECT_EQ(report.mismatch_max, 0);
  EXPECT_DOUBLE_EQ(report.drift_means[1], 0.5);
}
}  // namespace
}  // namespace corisco::trainer
