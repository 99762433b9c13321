// Draws from changed logits, by hand and against a plain implementation in doubles.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "corisco/base/random.h"
#include "engine/sampler.h"

namespace corisco::engine {
namespace {
DrawnToken draw(const std::vector<float>& row, const DrawRequest& request) {
  return draw_tokens(row.data(), static_cast<std::int64_t>(row.size()), {&request, 1}).front();
}
DrawnToken draw_allowed(const std::vector<float>& row, const SamplingParams& params,
                        const std::vector<std::uint32_t>& allowed) {
  return draw(row, {.sampling = &params, .position = 0, .seen = nullptr, .end_ids = {}, .allowed = allowed});
}

// softmax([2 1 0]) = .665241 .244728 .090031. A bias of -1 on token 0 draws from [1 1 0]: e / (2 e + 1) =
// .422319 twice and .155362, logarithms -.861994 and -1.861994.
TEST(SamplerChanges, SampledIsOfTheLogitsAsTheyAreAndDrawnOfTheChangedOnes) {
  SamplingParams params;
  params.logit_bias = {{0, -1}};
  params.top_logprobs = 2;
  const float sampled[] = {-0.407606F, -1.407606F, -2.407606F}, drawn_of[] = {-0.861994F, -0.861994F, -1.861994F};
  int times[3] = {};
  for (std::uint64_t key = 0; key < 600; ++key) {
    params.key = key;
    const auto drawn = draw({2, 1, 0}, {.sampling = &params});
    ++times[drawn.id];
    EXPECT_NEAR(drawn.sampled_logprob, sampled[drawn.id], 1e-5);
    EXPECT_NEAR(drawn.drawn_logprob, drawn_of[drawn.id], 1e-5);
    EXPECT_EQ(drawn.top[0].id, 0) << "alternatives are those of the logits as they are";
    EXPECT_NEAR(drawn.top[0].logprob, sampled[0], 1e-5);
  }
  for (int id = 0; id < 3; ++id) EXPECT_NEAR(times[id], 600 * std::exp(drawn_of[id]), 45) << id;
}

TEST(SamplerChanges, GreedyTakesTheMostProbableOfTheChanged) {
  SamplingParams params;
  params.temperature = 0;
  params.logit_bias = {{0, -3}};
  const auto drawn = draw({2, 1, 0}, {.sampling = &params});
  EXPECT_EQ(drawn.id, 1);
  EXPECT_NEAR(drawn.sampled_logprob, -1.407606, 1e-5);
  EXPECT_NEAR(drawn.drawn_logprob, -0.407606, 1e-5);   // [-1 1 0] has the same weights in another order
}

TEST(SamplerChanges, WhatIsMaskedIsNeverDrawnAndNothingLeftIsSaid) {
  SamplingParams params;
  params.temperature = 5;
  std::vector<std::uint32_t> allowed{0x5U};
  const std::vector<float> row{0, 9, 1, 9};
  for (std::uint64_t key = 0; key < 100; ++key) {
    params.key = key;
    const auto drawn = draw_allowed(row, params, allowed);
    ASSERT_TRUE(drawn.has_choice && (drawn.id == 0 || drawn.id == 2)) << drawn.id;
  }
  for (const float temperature : {0.0F, 1.0F}) {
    params.temperature = temperature;
    allowed = {0};
    const auto none = draw_allowed(row, params, allowed);
    EXPECT_TRUE(none.is_finite);
    EXPECT_FALSE(none.has_choice);
  }
}

// What top-k, top-p and min-p keep of logits, of which some are -infinity: the definition, in doubles.
std::vector<double> kept_probabilities(const SamplingParams& params, const std::vector<double>& scaled) {
  std::vector<std::size_t> order(scaled.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return scaled[a] > scaled[b]; });
  if (params.top_k > 0) order.resize(std::min<std::size_t>(order.size(), params.top_k));
  const double most = scaled[order.front()];
  double all = 0, before = 0, kept = 0;
  for (const auto id : order) all += std::exp(scaled[id] - most);
  std::vector<double> probabilities(scaled.size());
  for (const auto id : order) {
    const double weight = std::exp(scaled[id] - most);
    if (params.top_p < 1 && before > 0 && before >= static_cast<double>(params.top_p) * all) break;
    before += weight;
    if (weight < params.min_p) continue;
    probabilities[id] = weight;
    kept += weight;
  }
  for (double& probability : probabilities) probability /= kept;
  return probabilities;
}

TEST(SamplerChanges, EqualsAPlainImplementationInDoubles) {
  constexpr std::size_t kVocabulary = 400;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto pick = [&](std::uint64_t what) { return uniform(seed, 1000000 + what); };
    std::vector<float> row(kVocabulary);
    for (std::size_t i = 0; i < kVocabulary; ++i) row[i] = static_cast<float>(uniform(seed, i) * 8 - 4);
    SamplingParams params;
    params.key = seed;
    params.temperature = static_cast<float>(0.3 + pick(1) * 2);
    if (seed % 2 == 0) params.repetition_penalty = static_cast<float>(0.7 + pick(2));
    if (seed % 3 == 0) params.presence_penalty = static_cast<float>(pick(3) * 4 - 2);
    if (seed % 4 == 0) params.frequency_penalty = static_cast<float>(pick(4) * 2 - 1);
    if (seed % 5 != 0) params.logit_bias = {{7, 3.5F}, {11, -2}};
    if (seed % 3 == 1) params.top_k = 1 + static_cast<std::uint32_t>(pick(5) * 50);
    if (seed % 4 == 1) params.top_p = static_cast<float>(0.1 + pick(6) * 0.8);
    if (seed % 5 == 1) params.min_p = static_cast<float>(pick(7) * 0.2);
    SeenTokens seen;
    std::vector<TokenId> prompt, reply;
    for (int i = 0; i < 60; ++i) prompt.push_back(static_cast<TokenId>(pick(100 + i) * kVocabulary));
    for (int i = 0; i < 40; ++i) reply.push_back(static_cast<TokenId>(pick(200 + i) * 50));
    seen.add_prompt(prompt);
    for (const auto id : reply) seen.add_drawn(id);
    std::vector<std::uint32_t> allowed;
    if (seed % 6 == 0)
      for (std::uint64_t word = 0; word < 12; ++word)
        allowed.push_back(static_cast<std::uint32_t>(hash_words({seed, word})));

    std::vector<double> scaled(row.begin(), row.end());
    for (std::size_t id = 0; id < kVocabulary; ++id) {
      const auto times = std::ranges::count(reply, static_cast<TokenId>(id));
      const bool is_seen = times > 0 || std::ranges::count(prompt, static_cast<TokenId>(id)) > 0;
      if (is_seen) scaled[id] *= std::pow(static_cast<double>(params.repetition_penalty), scaled[id] > 0 ? -1.0 : 1.0);
      if (times > 0) scaled[id] -= params.presence_penalty + params.frequency_penalty * static_cast<double>(times);
      for (const auto& [biased, bias] : params.logit_bias)
        if (static_cast<std::size_t>(biased) == id) scaled[id] += bias;
      const bool is_allowed = allowed.empty() || (id / 32 < allowed.size() && (allowed[id / 32] >> id % 32 & 1U) != 0);
      scaled[id] = is_allowed ? scaled[id] / params.temperature : -std::numeric_limits<double>::infinity();
    }
    const auto probabilities = kept_probabilities(params, scaled);
    double log_sum = 0;
    for (const float logit : row) log_sum += std::exp(static_cast<double>(logit) / params.temperature);
    log_sum = std::log(log_sum);

    for (std::uint64_t position = 0; position < 30; ++position) {
      const DrawRequest request{
          .sampling = &params, .position = position, .seen = &seen, .end_ids = {}, .allowed = allowed};
      const auto drawn = draw(row, request);
      // The one whose part of [0, 1) holds the uniform number, in the order of ids.
      const double u = uniform(params.key, position);
      const double until = std::accumulate(probabilities.begin(), probabilities.begin() + drawn.id, 0.0);
      EXPECT_GE(u, until - 1e-5) << seed;
      const auto at = static_cast<std::size_t>(drawn.id);
      EXPECT_LE(u, until + probabilities[at] + 1e-5) << seed;
      EXPECT_NEAR(drawn.drawn_logprob, std::log(probabilities[at]), 2e-5) << seed;
      EXPECT_NEAR(drawn.sampled_logprob, static_cast<double>(row[at]) / params.temperature - log_sum, 2e-5) << seed;
    }
  }
}
}  // namespace
}  // namespace corisco::engine
