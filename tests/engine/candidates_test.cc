// Truncation against values by hand, and against a plain implementation that sorts everything.
#include "engine/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "corisco/base/random.h"
#include "engine/sampling.h"

namespace corisco::engine {
namespace {
using Ids = std::vector<TokenId>;

Ids keep(const Sampling& params, const std::vector<float>& weights) {
  std::vector<float> logits;
  for (const float weight : weights) logits.push_back(std::log(weight));
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  return keep_candidates(params, logits.data(), weights.data(),
                         static_cast<std::int64_t>(weights.size()), total);
}

// Weights as in the engine: the largest is 1. Probabilities .05 .4 .25 .2 .1.
const std::vector<float> kWeights{0.125F, 1.0F, 0.625F, 0.5F, 0.25F};

TEST(Candidates, TopKKeepsTheMostProbable) {
  EXPECT_EQ(keep({.top_k = 2}, kWeights), (Ids{1, 2}));
  EXPECT_EQ(keep({.top_k = 5}, kWeights), (Ids{0, 1, 2, 3, 4}));
  EXPECT_EQ(keep({.top_k = 99}, kWeights), (Ids{0, 1, 2, 3, 4}));
}

TEST(Candidates, TopPKeepsTheSmallestSetThatReachesP) {
  EXPECT_EQ(keep({.top_p = 0.39F}, kWeights), (Ids{1}));
  EXPECT_EQ(keep({.top_p = 0.41F}, kWeights), (Ids{1, 2}));
  EXPECT_EQ(keep({.top_p = 0.84F}, kWeights), (Ids{1, 2, 3}));
  EXPECT_EQ(keep({.top_p = 0.86F}, kWeights), (Ids{1, 2, 3, 4}));
  EXPECT_EQ(keep({.top_p = 0.0001F}, kWeights), (Ids{1}));
}

// Of the three most probable (.4 .25 .2, together .85) the first has .47 and two have .76.
TEST(Candidates, TopPIsAPartOfWhatTopKKept) {
  EXPECT_EQ(keep({.top_p = 0.46F, .top_k = 3}, kWeights), (Ids{1}));
  EXPECT_EQ(keep({.top_p = 0.75F, .top_k = 3}, kWeights), (Ids{1, 2}));
  EXPECT_EQ(keep({.top_p = 0.75F}, kWeights), (Ids{1, 2, 3}));
}

TEST(Candidates, MinPComparesWithTheMostProbable) {
  EXPECT_EQ(keep({.min_p = 0.5F}, kWeights), (Ids{1, 2, 3}));
  EXPECT_EQ(keep({.min_p = 0.51F}, kWeights), (Ids{1, 2}));
  EXPECT_EQ(keep({.min_p = 1.0F}, kWeights), (Ids{1}));
}

TEST(Candidates, OfEqualLogitsTheLowestIdsStay) {
  EXPECT_EQ(keep({.top_k = 2}, {0.5F, 1.0F, 1.0F, 1.0F}), (Ids{1, 2}));
  EXPECT_EQ(keep({.top_p = 0.3F}, {1.0F, 1.0F, 1.0F, 1.0F}), (Ids{0, 1}));
}

TEST(Candidates, EqualsSortingTheWholeVocabulary) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::size_t size = seed % 2 == 0 ? 50 : 20000;
    std::vector<float> logits(size), weights(size);
    for (std::size_t i = 0; i < size; ++i)  // coarse steps, so that ties occur
      logits[i] = static_cast<float>(std::floor(uniform(seed, i) * 64) / 16 - 4);
    const float maximum = *std::max_element(logits.begin(), logits.end());
    for (std::size_t i = 0; i < size; ++i) weights[i] = std::exp(logits[i] - maximum);
    SamplingParams params;
    if (seed % 3 != 0) params.top_k = static_cast<std::uint32_t>(1 + uniform(seed, 1000001) * 40);
    if (seed % 4 != 0) params.top_p = static_cast<float>(uniform(seed, 1000002));
    if (seed % 5 == 0) params.min_p = static_cast<float>(uniform(seed, 1000003) * 0.2);

    Ids order(size);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](TokenId a, TokenId b) { return logits[a] > logits[b]; });
    if (params.top_k > 0 && params.top_k < size) order.resize(params.top_k);
    double mass = 0, reached = 0;
    for (const TokenId id : order) mass += weights[id];
    Ids expected;
    for (const TokenId id : order) {
      if (params.top_p < 1 && !expected.empty() && reached >= static_cast<double>(params.top_p) * mass) break;
      reached += weights[id];
      if (weights[id] >= params.min_p) expected.push_back(id);
    }
    std::sort(expected.begin(), expected.end());
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    EXPECT_EQ(keep_candidates(params, logits.data(), weights.data(), static_cast<std::int64_t>(size), total),
              expected)
        << "seed " << seed;
  }
}

TEST(Candidates, TopIdsAreSortedWithTiesById) {
  const std::vector<float> logits{1, 5, 3, 5, 2};
  EXPECT_EQ(top_ids(logits.data(), 5, 3), (Ids{1, 3, 2}));
  EXPECT_EQ(top_ids(logits.data(), 5, 9), (Ids{1, 3, 2, 4, 0}));
  EXPECT_TRUE(top_ids(logits.data(), 5, 0).empty());
}
}  // namespace
}  // namespace corisco::engine
