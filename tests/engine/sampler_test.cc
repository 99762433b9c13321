// Draws: frequencies, recorded log-probabilities by hand, greedy, and independence of the batch.
#include "engine/sampler.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <limits>
#include <vector>

#include "corisco/base/random.h"
#include "engine/sampling.h"

namespace corisco::engine {
namespace {
DrawnToken draw(const std::vector<float>& row, const Sampling& sampling, std::uint64_t position = 0) {
  const SamplingParams params = sampling;
  const DrawRequest request{&params, position, nullptr, {}, {}};
  return draw_tokens(row.data(), static_cast<std::int64_t>(row.size()), {&request, 1}).front();
}

// softmax([2 1 0]) = .665241 .244728 .090031; at temperature .6: .812030 .153371 .028968 / sum.
TEST(Sampler, RecordsTheLogprobAtTheSamplingTemperature) {
  const std::vector<float> row{2, 1, 0};
  for (std::uint64_t key = 0; key < 20; ++key) {
    const auto at_one = draw(row, {.key = key});
    const float expected_one[] = {-0.407606F, -1.407606F, -2.407606F};
    EXPECT_NEAR(at_one.sampled_logprob, expected_one[at_one.id], 1e-5);
    EXPECT_EQ(at_one.drawn_logprob, at_one.sampled_logprob);
    // log(1 + e^(-1/.6) + e^(-2/.6)) = log(1.224549) = .202573
    const auto colder = draw(row, {.temperature = 0.6F, .key = key});
    const float expected_colder[] = {-0.202573F, -1.869240F, -3.535906F};
    EXPECT_NEAR(colder.sampled_logprob, expected_colder[colder.id], 1e-5);
  }
}

// top_p .8 keeps .665 and .245: drawn_logprob is of .731059 and .268941.
TEST(Sampler, RecordsBothLogprobsUnderTruncation) {
  const std::vector<float> row{2, 1, 0};
  int num_second = 0;
  for (std::uint64_t key = 0; key < 200; ++key) {
    const auto drawn = draw(row, {.top_p = 0.8F, .key = key});
    ASSERT_LT(drawn.id, 2);
    num_second += drawn.id;
    EXPECT_NEAR(drawn.sampled_logprob, drawn.id == 0 ? -0.407606F : -1.407606F, 1e-5);
    EXPECT_NEAR(drawn.drawn_logprob, drawn.id == 0 ? -0.313262F : -1.313262F, 1e-5);
  }
  EXPECT_NEAR(num_second, 200 * 0.268941, 20);
}

TEST(Sampler, ATruncationThatKeepsAllChangesNothing) {
  const std::vector<float> row{2, 1, 0};
  const auto drawn = draw(row, {.top_k = 3, .key = 4});
  EXPECT_EQ(drawn.drawn_logprob, drawn.sampled_logprob);
  EXPECT_EQ(drawn.id, draw(row, {.key = 4}).id);
}

// Pearson's chi-square with 599 degrees of freedom: mean 599, deviation 35.
TEST(Sampler, DrawsWithTheSoftmaxFrequencies) {
  constexpr int kVocabulary = 600, kDraws = 60000;
  std::vector<float> row(kVocabulary);
  double total = 0;
  for (int i = 0; i < kVocabulary; ++i) {
    row[i] = static_cast<float>(uniform(9, i) * 3);
    total += std::exp(static_cast<double>(row[i]) / 1.5);
  }
  std::vector<int> counts(kVocabulary);
  const Sampling params{.temperature = 1.5F, .key = 21};
  for (int n = 0; n < kDraws; ++n) ++counts[draw(row, params, n).id];
  double chi_square = 0;
  for (int i = 0; i < kVocabulary; ++i) {
    const double expected = kDraws * std::exp(static_cast<double>(row[i]) / 1.5) / total;
    chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  EXPECT_LT(chi_square, 599 + 4 * 35);
  EXPECT_GT(chi_square, 599 - 4 * 35);
}

TEST(Sampler, NeverDrawsWhatHasNoProbability) {
  std::vector<float> row(700, -1e4F);
  row[3] = row[650] = 0;
  for (std::uint64_t key = 0; key < 100; ++key) {
    const TokenId id = draw(row, {.key = key}).id;
    ASSERT_TRUE(id == 3 || id == 650) << id;
  }
}

TEST(Sampler, TemperatureZeroTakesTheLowestOfTheMostProbable) {
  const std::vector<float> row{0, 3, 1, 3};
  const auto drawn = draw(row, {.temperature = 0, .top_p = 0.5F, .key = 5});
  EXPECT_EQ(drawn.id, 1);
  // log softmax at temperature 1: -log(2 + e^-3 + e^-2) = -log(2.185122)
  EXPECT_NEAR(drawn.sampled_logprob, -0.781672, 1e-5);
  EXPECT_EQ(drawn.drawn_logprob, drawn.sampled_logprob);
}

TEST(Sampler, ReportsTheAlternativesWithTheirLogprobs) {
  const std::vector<float> row{2, 1, 0};
  const auto drawn = draw(row, {.temperature = 0, .top_logprobs = 2, .key = 5});
  ASSERT_EQ(drawn.top.size(), 2U);
  EXPECT_EQ(drawn.top[0].id, 0);
  EXPECT_EQ(drawn.top[0].logprob, drawn.sampled_logprob);
  EXPECT_EQ(drawn.top[1].id, 1);
  EXPECT_NEAR(drawn.top[1].logprob, -1.407606, 1e-5);
}

TEST(Sampler, ANonFiniteRowDrawsNothingAndLeavesTheOthers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> rows{1, nan, 0, /**/ 0, 50, 0};
  const SamplingParams params;
  const DrawRequest requests[] = {{.sampling = &params}, {.sampling = &params}};
  const auto drawn = draw_tokens(rows.data(), 3, requests);
  EXPECT_FALSE(drawn[0].is_finite);
  EXPECT_TRUE(drawn[1].is_finite);
  EXPECT_EQ(drawn[1].id, 1);
}

TEST(Sampler, ADrawDependsOnItsRowKeyAndPositionAlone) {
  constexpr int kVocabulary = 3000, kRows = 33;
  std::vector<float> rows(kVocabulary * kRows);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(uniform(2, i) * 6);
  std::vector<SamplingParams> params(kRows);
  std::vector<DrawRequest> requests;
  for (int i = 0; i < kRows; ++i) {
    params[i].key = 100 + i;
    if (i % 3 == 1) params[i].top_p = 0.9F;
    requests.push_back({.sampling = &params[i], .position = static_cast<std::uint64_t>(i)});
  }
  const auto together = draw_tokens(rows.data(), kVocabulary, requests);
  omp_set_num_threads(1);
  const auto serial = draw_tokens(rows.data(), kVocabulary, requests);
  omp_set_num_threads(2);
  for (int i = 0; i < kRows; ++i) {
    const auto alone = draw_tokens(rows.data() + i * kVocabulary, kVocabulary, {&requests[i], 1}).front();
    for (const auto& other : {together[i], serial[i]}) {
      EXPECT_EQ(alone.id, other.id);
      EXPECT_EQ(alone.sampled_logprob, other.sampled_logprob);
      EXPECT_EQ(alone.drawn_logprob, other.drawn_logprob);
    }
  }
}

TEST(Sampler, OtherKeysAndPositionsDrawOtherTokens) {
  const std::vector<float> row(1000, 0.0F);
  const TokenId id = draw(row, {.key = 1}, 0).id;
  EXPECT_EQ(draw(row, {.key = 1}, 0).id, id);
  EXPECT_NE(draw(row, {.key = 1}, 1).id, id);
  EXPECT_NE(draw(row, {.key = 2}, 0).id, id);
}
}  // namespace
}  // namespace corisco::engine
