// The vectorised passes over a row, against the C library in double precision.
#include "engine/row_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "corisco/base/random.h"

namespace corisco::engine {
namespace {
std::vector<float> row(std::int64_t size, double spread) {
  std::vector<float> logits(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < logits.size(); ++i)
    logits[i] = static_cast<float>((uniform(3, i) - 0.5) * spread);
  return logits;
}

TEST(RowMath, FindsTheMaximumWhereverItStands) {
  for (const std::int64_t size : {1, 15, 16, 17, 300}) {
    for (std::int64_t at = 0; at < size; ++at) {
      auto logits = row(size, 4);
      logits[static_cast<std::size_t>(at)] = 9.5F;
      const RowScan scan = scan_row(logits.data(), size);
      ASSERT_EQ(scan.maximum, 9.5F) << at << " of " << size;
      ASSERT_TRUE(scan.is_finite);
    }
  }
}

TEST(RowMath, SeesEveryNonFiniteElement) {
  const float bad[] = {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                       std::numeric_limits<float>::quiet_NaN()};
  for (const float value : bad) {
    for (std::size_t at = 0; at < 37; ++at) {
      auto logits = row(37, 4);
      logits[at] = value;
      ASSERT_FALSE(scan_row(logits.data(), 37).is_finite) << value << " at " << at;
    }
  }
}

TEST(RowMath, WeightsAreExponentialsAndSumUpByBlocks) {
  for (const std::int64_t size : {1, 255, 256, 257, 5000}) {
    for (const float temperature : {0.3F, 1.0F, 2.5F}) {
      const auto logits = row(size, 60);
      const float maximum = scan_row(logits.data(), size).maximum;
      std::vector<float> weights(logits.size()), sums(static_cast<std::size_t>(sum_blocks(size)));
      const double total =
          exp_weights(logits.data(), size, maximum, temperature, weights.data(), sums.data());
      double expected_total = 0;
      std::vector<double> expected_sums(sums.size());
      for (std::size_t i = 0; i < logits.size(); ++i) {
        // The argument is rounded to float; the exponential itself must then be as good.
        const float argument = (logits[i] - maximum) * (1.0F / temperature);
        const double expected = argument > -87 ? std::exp(static_cast<double>(argument)) : 0;
        ASSERT_NEAR(weights[i], expected, expected * 2e-7) << argument;
        expected_total += expected;
        expected_sums[i / kSumBlock] += expected;
      }
      ASSERT_NEAR(total, expected_total, expected_total * 1e-6);
      for (std::size_t i = 0; i < sums.size(); ++i)
        ASSERT_NEAR(sums[i], expected_sums[i], expected_sums[i] * 1e-6);
    }
  }
}

TEST(RowMath, TheMaximumWeighsOneAndTheFarthestNothing) {
  const std::vector<float> logits{0.0F, -86.9F, -87.0F, -1e30F};
  std::vector<float> weights(4), sums(1);
  exp_weights(logits.data(), 4, 0.0F, 1.0F, weights.data(), sums.data());
  EXPECT_EQ(weights[0], 1.0F);
  EXPECT_GT(weights[1], 0.0F);
  EXPECT_EQ(weights[2], 0.0F);
  EXPECT_EQ(weights[3], 0.0F);
}
}  // namespace
}  // namespace corisco::engine
