// Expected values: an independent implementation in Python with whole-number arithmetic, whose
// mix gives the published first output of splitmix64 (seed 1234567: 6457827717110365317).
#include "corisco/base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace corisco {
namespace {
TEST(Random, HashesAreTheirPublishedValuesEverywhere) {
  EXPECT_EQ(hash_words({}), 0x0U);
  EXPECT_EQ(hash_words({1, 2, 3}), 0x5ae13b91e05d4113U);
  EXPECT_EQ(hash_words({3, 2, 1}), 0xf23bb2899785e6dcU);
  const std::vector<std::int32_t> ids{-1, 7};
  EXPECT_EQ(hash_ids(ids), 0x49f8c584f45c6277U);
  EXPECT_EQ(hash_text("S\xc3\xa3o"), 0xc7f6483b74f31eccU);  // bytes above 127 count as unsigned
}

TEST(Random, UniformHasFixedValues) {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(uniform(0, 0), 0.6044118051272669);
  EXPECT_EQ(uniform(1, 2), 0.16700609122836313);
  EXPECT_EQ(uniform(kMax, kMax), 0.7772650811899682);
}

// Counters whose 64 bits are all ones and all zeros under key 0, found by inverting the mix.
TEST(Random, UniformIsNeverZeroOrOne) {
  EXPECT_LT(uniform(0, 0x79629f19f7da397aU), 1.0);
  EXPECT_EQ(uniform(0, 0x30844747cc79dfb9U), 0x1p-54);
}

// 100000 draws in 100 bins: chi-squared with 99 degrees of freedom is below 149 with p = 0.999.
TEST(Random, UniformIsFlatOverCountersAndOverKeys) {
  for (const bool over_keys : {false, true}) {
    std::array<int, 100> bins{};
    double sum = 0;
    for (std::uint64_t i = 0; i < 100000; ++i) {
      const double drawn = over_keys ? uniform(i, 7) : uniform(7, i);
      sum += drawn;
      ++bins[static_cast<std::size_t>(drawn * 100)];
    }
    double chi_squared = 0;
    for (const int count : bins) chi_squared += (count - 1000.0) * (count - 1000.0) / 1000.0;
    EXPECT_LT(chi_squared, 149) << "over keys: " << over_keys;
    EXPECT_NEAR(sum / 100000, 0.5, 0.004);
  }
}

TEST(Random, NeighbouringCountersAreUncorrelated) {
  double products = 0;
  for (std::uint64_t i = 0; i < 100000; ++i) products += (uniform(3, i) - 0.5) * (uniform(3, i + 1) - 0.5);
  EXPECT_NEAR(products / 100000 * 12, 0, 0.015);  // correlation; its deviation is 0.0032
}

TEST(Random, ShuffleIsTheSameForTheSameKey) {
  std::vector<int> items(8);
  std::iota(items.begin(), items.end(), 0);
  shuffle(std::span<int>(items), 42);
  EXPECT_EQ(items, (std::vector<int>{2, 1, 7, 4, 0, 3, 6, 5}));
}

// Each of the 6 orders of 3 items in 6000 keys: expected 1000 each, deviation 29.
TEST(Random, ShuffleReachesAllOrdersEqually) {
  std::array<int, 6> counts{};
  for (std::uint64_t key = 0; key < 6000; ++key) {
    std::vector<int> items{0, 1, 2};
    shuffle(std::span<int>(items), key);
    ++counts[static_cast<std::size_t>(items[0] * 2 + (items[1] > items[2] ? 1 : 0))];
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 120);
}
}  // namespace
}  // namespace corisco
