// The CPU kernels against the same decoder made of plain ATen calls: hidden states, cached passes
// and gradients, with shapes that do not fill vectors. For gated DeltaNet layers the recurrent form against
// the chunked one.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "corisco/base/random.h"
#include "model/transformer.h"
#include "support/tiny_model.h"
#include "variants.h"

namespace corisco::model {
namespace {
using Ids = std::vector<std::int64_t>;

Ids random_ids(std::size_t count, std::uint64_t key) {
  Ids ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int64_t>(uniform(key, i) * 250));
  return ids;
}

DecoderConfig odd_config() {
  DecoderConfig config = testing::tiny_config();
  config.hidden_size = 44;
  config.intermediate_size = 51;
  config.num_heads = 6;
  config.head_dim = 10;
  config.vocab_size = 251;
  config.qkv_bias = config.attention_output_bias = true;
  config.mlp_bias = true;
  config.tie_embeddings = false;
  return config;
}

std::unique_ptr<Transformer> decoder_of(const DecoderConfig& config, OpsKind kind, at::ScalarType type) {
  DecoderWeights weights = allocate_weights(config, type, "cpu");
  randomise_weights(config, weights, 3);
  const at::NoGradGuard no_grad;
  for (const auto& parameter : fused_parameters(weights)) {
    if (parameter.name.ends_with("bias")) parameter.tensor.fill_(0.05);
    else if (!parameter.name.ends_with("norm.weight")) parameter.tensor.mul_(5);
  }
  return std::make_unique<Transformer>(config, std::move(weights), kind, false);
}

void expect_close(const at::Tensor& result, const at::Tensor& expected, double tolerance,
                  const std::string& what) {
  const double difference = (result.detach() - expected.detach()).abs().max().item<double>();
  EXPECT_LE(difference, tolerance * (expected.abs().max().item<double>() + 1e-6)) << what;
}

// Two sequences, the second beginning with a shared prefix of the first.
ForwardInput shared_prefix_input() {
  ForwardInput input = testing::one_sequence(random_ids(70, 1));
  const auto tail = static_cast<std::int32_t>(input.token_ids.size());
  for (std::int32_t t = 0; t < 20; ++t) {
    input.token_ids.push_back(t + 1);
    input.positions.push_back(30 + t);
    input.attention.spans.push_back({0, 30});
    input.attention.spans.push_back({tail, t + 1});
    input.attention.end_row();
  }
  return input;
}

std::vector<testing::Variant> odd_variants() {
  auto list = testing::variants(odd_config());
  list.push_back({"even", testing::tiny_config()});
  return list;
}

class EachReference : public ::testing::TestWithParam<testing::Variant> {};
INSTANTIATE_TEST_SUITE_P(Variants, EachReference, ::testing::ValuesIn(odd_variants()),
                         [](const auto& instance) { return instance.param.name; });

TEST_P(EachReference, GradientsAgree) {
  const auto& config = GetParam().config;
  const auto own = decoder_of(config, OpsKind::own_kernels, at::kFloat);
  const auto reference = decoder_of(config, OpsKind::aten, at::kFloat);
  const ForwardInput input = shared_prefix_input();
  const Ids targets = random_ids(input.token_ids.size(), 2);
  std::vector<at::Tensor> logprobs;
  for (auto* decoder : {own.get(), reference.get()}) {
    logprobs.push_back(decoder->selected_logprobs(decoder->hidden(input), targets, 0.8F));
    logprobs.back().mul(logprobs.back()).sum().backward();  // rows of unequal weight
  }
  expect_close(logprobs[0], logprobs[1], 1e-5, "logprobs");
  const auto own_parameters = own->parameters(), reference_parameters = reference->parameters();
  for (std::size_t i = 0; i < own_parameters.size(); ++i) {
    expect_close(own_parameters[i].tensor.grad(), reference_parameters[i].tensor.grad(), 2e-5,
                 own_parameters[i].name);
  }
}

// In bfloat16 the two may choose different experts where the router is undecided: the choice is replayed.
TEST_P(EachReference, CachedPassesAgree) {
  const at::NoGradGuard no_grad;
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const auto own = decoder_of(GetParam().config, OpsKind::own_kernels, type);
    const auto reference = decoder_of(GetParam().config, OpsKind::aten, type);
    KvStore own_cache = own->make_kv_store(40, 1), reference_cache = reference->make_kv_store(40, 1);
    const Ids ids = random_ids(24, 4);
    for (std::int64_t from = 0; from < 24; from += 8) {
      ForwardInput input;
      for (std::int64_t t = from; t < from + 8; ++t) {
        input.token_ids.push_back(ids[static_cast<std::size_t>(t)]);
        input.positions.push_back(t);
        input.slots.push_back(t + 10);
        input.attention.spans.push_back({10, static_cast<std::int32_t>(t) + 1});
        input.attention.end_row();
      }
      if (GetParam().config.delta.exists()) input.states.assign(8, 0);
      std::vector<ExpertId> experts;
      input.cache = &own_cache;
      input.used_experts = &experts;
      const at::Tensor result = own->hidden(input).to(at::kFloat);
      input.cache = &reference_cache;
      input.used_experts = nullptr;
      input.replayed_experts = experts;
      const at::Tensor expected = reference->hidden(input).to(at::kFloat);
      expect_close(result, expected, type == at::kFloat ? 1e-5 : 3e-2, "hidden");
    }
  }
}

TEST(Reference, AFrozenCopyKeepsItsWeights) {
  const auto decoder = testing::tiny_decoder();
  const auto copy = decoder->frozen_copy();
  const at::NoGradGuard no_grad;
  const ForwardInput input = testing::one_sequence(random_ids(9, 5));
  const at::Tensor before = decoder->hidden(input);
  for (const auto& parameter : decoder->parameters()) parameter.tensor.add_(0.1);
  EXPECT_TRUE(copy->hidden(input).equal(before));
  EXPECT_FALSE(decoder->hidden(input).equal(before));
  for (const auto& parameter : copy->parameters()) EXPECT_FALSE(parameter.tensor.requires_grad());
}
}  // namespace
}  // namespace corisco::model
