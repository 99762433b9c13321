// Which experts a token goes to: chosen by the router, recorded, and replayed.
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "model/experts.h"
#include "model/transformer.h"
#include "support/tiny_model.h"

namespace corisco::model {
namespace {
using Ids = std::vector<std::int64_t>;
using Experts = std::vector<ExpertId>;

constexpr ExpertId kOpen = kRouterChooses;
const Ids kTokens{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};

// Three layers, the second without experts.
DecoderConfig expert_config(std::int64_t num_experts, std::int64_t per_token) {
  DecoderConfig config = testing::tiny_config();
  config.num_layers = 3;
  config.num_experts = num_experts;
  config.experts_per_token = per_token;
  config.expert_intermediate_size = 24;
  config.expert_layers = {true, false, true};
  config.normalises_expert_weights = true;
  return config;
}

std::unique_ptr<Decoder> decoder_of(const DecoderConfig& config) {
  auto decoder = Decoder::random(config, "float32", true, 5);
  const at::NoGradGuard no_grad;
  for (const auto& parameter : decoder->parameters()) parameter.tensor.mul_(4);  // routers with opinions
  return decoder;
}

Experts used_by(Decoder& decoder, ForwardInput input) {
  Experts used;
  input.used_experts = &used;
  const at::NoGradGuard no_grad;
  (void)decoder.hidden(input);
  return used;
}

TEST(Experts, RowsAreGroupedByExpertInTheirOrder) {
  // Three tokens with two choices each: experts 2 0, 2 3, 0 3.
  const ExpertRows groups = group_by_expert({2, 0, 2, 3, 0, 3}, 5);
  EXPECT_EQ(groups.experts, (Ids{0, 2, 3}));
  EXPECT_EQ(groups.counts, (Ids{2, 2, 2}));
  EXPECT_EQ(groups.places, (Ids{1, 4, 0, 2, 3, 5}));
}

TEST(Experts, AreCountedOverTheLayersThatHaveSome) {
  EXPECT_EQ(expert_config(4, 2).experts_per_row(), 4);
  EXPECT_EQ(testing::tiny_config().experts_per_row(), 0);
  EXPECT_EQ(used_by(*decoder_of(expert_config(4, 2)), testing::one_sequence(kTokens)).size(), kTokens.size() * 4);
  EXPECT_TRUE(used_by(*testing::tiny_decoder(), testing::one_sequence(kTokens)).empty());
}

// With one expert for each token its weight is exactly 1: replayed everywhere, expert e is a dense MLP.
TEST(Experts, AReplayedExpertComputesWhatItsWeightsSay) {
  DecoderConfig config = expert_config(2, 1);
  DecoderWeights weights = allocate_weights(config, at::kFloat, "cpu");
  randomise_weights(config, weights, 9);
  DecoderConfig dense = config;
  dense.expert_layers = {};
  dense.intermediate_size = config.expert_intermediate_size;
  config.expert_layers = {true, true, true};
  const at::NoGradGuard no_grad;
  for (auto& layer : weights.layers) {
    if (layer.router.defined()) continue;
    layer.router = weights.layers[0].router;  // the second layer too, with swapped experts
    layer.experts = {weights.layers[0].experts[1], weights.layers[0].experts[0]};
    layer.gate_up = layer.down = at::Tensor();
  }
  Transformer routed(config, weights, OpsKind::own_kernels, true);
  for (const std::size_t expert : {0, 1}) {
    DecoderWeights one = weights;
    for (auto& layer : one.layers) {
      layer.gate_up = layer.experts[expert].gate_up;
      layer.down = layer.experts[expert].down;
      layer.router = at::Tensor();
      layer.experts.clear();
    }
    Transformer plain(dense, one, OpsKind::own_kernels, true);
    ForwardInput input = testing::one_sequence(kTokens);
    const at::Tensor expected = plain.hidden(input);
    input.replayed_experts.assign(kTokens.size() * 3, static_cast<ExpertId>(expert));
    EXPECT_TRUE(routed.hidden(input).equal(expected)) << expert;
  }
}

// Recorded token by token through a cache, replayed in a training pass.
TEST(Experts, WhatSamplingUsedIsWhatTrainingReplays) {
  const auto decoder = decoder_of(expert_config(6, 2));
  KvStore cache = decoder->make_kv_store(static_cast<std::int64_t>(kTokens.size()));
  Experts sampled;
  std::vector<at::Tensor> rows;
  for (std::size_t t = 0; t < kTokens.size(); ++t) {
    const at::NoGradGuard no_grad;
    ForwardInput step;
    step.token_ids = {kTokens[t]};
    step.positions = step.slots = {static_cast<std::int64_t>(t)};
    step.attention.spans = {{0, static_cast<std::int32_t>(t) + 1}};
    step.attention.end_row();
    step.cache = &cache;
    Experts used;
    step.used_experts = &used;
    rows.push_back(decoder->hidden(step));
    sampled.insert(sampled.end(), used.begin(), used.end());
  }
  ForwardInput input = testing::one_sequence(kTokens);
  EXPECT_EQ(used_by(*decoder, input), sampled);
  input.replayed_experts = sampled;
  EXPECT_EQ(used_by(*decoder, input), sampled);
  const at::Tensor trained = decoder->hidden(input);
  for (std::size_t t = 0; t < rows.size(); ++t) {
    EXPECT_TRUE(trained[static_cast<std::int64_t>(t)].equal(rows[t][0])) << t;
  }
}

// The tokens before it don't change, its own layers use what was given, the others stay the router's.
TEST(Experts, AReplayedChoiceReplacesTheRouters) {
  const auto decoder = decoder_of(expert_config(6, 2));
  ForwardInput input = testing::one_sequence(kTokens);
  const Experts chosen = used_by(*decoder, input);
  const std::size_t row = 7, at = row * 4;  // its first layer's choice
  Experts replayed(chosen.size(), kOpen);
  replayed[at] = static_cast<ExpertId>((chosen[at] + 1) % 6);
  replayed[at + 1] = static_cast<ExpertId>((chosen[at] + 2) % 6);
  const at::NoGradGuard no_grad;
  const at::Tensor before = decoder->hidden(input);
  input.replayed_experts = replayed;
  const at::Tensor after = decoder->hidden(input);
  EXPECT_TRUE(after.narrow(0, 0, 7).equal(before.narrow(0, 0, 7)));
  EXPECT_FALSE(after[7].equal(before[7]));
  const Experts used = used_by(*decoder, input);
  EXPECT_EQ(used[at], replayed[at]);
  EXPECT_EQ(used[at + 1], replayed[at + 1]);
  EXPECT_TRUE(std::equal(used.begin(), used.begin() + static_cast<std::ptrdiff_t>(at), chosen.begin()));
}

TEST(Experts, TheRouterLearnsFromReplayedChoices) {
  const auto decoder = decoder_of(expert_config(6, 2));
  ForwardInput input = testing::one_sequence(kTokens);
  input.replayed_experts = used_by(*decoder, input);
  decoder->selected_logprobs(decoder->hidden(input), kTokens, 1.0F).sum().backward();
  int routers = 0;
  for (const auto& parameter : decoder->parameters()) {
    if (!parameter.name.ends_with("mlp.gate.weight")) continue;
    EXPECT_GT(parameter.tensor.grad().abs().max().item<float>(), 0) << parameter.name;
    ++routers;
  }
  EXPECT_EQ(routers, 2);
}
}  // namespace
}  // namespace corisco::model
