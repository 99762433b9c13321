// Logits, log-probabilities and gradients against transformers, on tiny random decoders of every supported
// architecture (scripts/golden/model.py). What differs is recorded as properties of the tests, of which
// scripts/golden/parity_table.py makes the page's table.
#include <ATen/ops/mean.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <cmath>

#include "corisco/base/strings.h"
#include "golden.h"
#include "support/tiny_model.h"

namespace corisco::model {
namespace {
// The folders of scripts/golden/model.py.
constexpr const char* kVariants[] = {"tied", "untied_biased", "one_kv_head", "linear", "llama3", "yarn", "yarn_scales",
                                     "dynamic", "mistral", "mistral_window", "qwen2", "qwen2_window", "qwen3",
                                     "qwen3_biased", "qwen3_window", "qwen3_moe", "qwen3_moe_sparse_step",
                                     "qwen3_moe_tied", "qwen3_next", "qwen3_next_yarn", "qwen3_5", "qwen3_5_mrope",
                                     "qwen3_5_moe"};

std::unique_ptr<Decoder> load(const std::string& variant, const std::string& dtype, bool deterministic) {
  config::Model options;
  options.dtype = dtype;
  options.device = testing::device();
  auto decoder = Decoder::load(testing::golden_folder(variant), options, deterministic);
  EXPECT_TRUE(decoder.ok()) << decoder.error().message;
  return std::move(decoder).value();
}

float largest_difference(const at::Tensor& result, const std::vector<float>& expected) {
  EXPECT_EQ(static_cast<std::size_t>(result.numel()), expected.size());
  const at::Tensor flat = result.to(at::kCPU).contiguous();
  float largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::fabs(flat.const_data_ptr<float>()[i] - expected[i]));
  }
  return largest;
}

float largest(const std::vector<float>& numbers) {
  float result = 0;
  for (const float x : numbers) result = std::max(result, std::fabs(x));
  return result;
}

// transformers' own float32 results of the tiny hybrid models are up to 3.7e-5 from its results in float64, and in
// bfloat16 up to 1.1 from those in float32: the norms inside of their recurrent layers divide by small numbers.
bool is_hybrid(const std::string& variant) {
  return variant.starts_with("qwen3_next") || variant.starts_with("qwen3_5");
}
float bound_in_float32(const std::string& variant) { return is_hybrid(variant) ? 4e-5F : 1e-5F; }

class GoldenLogits : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenLogits, MatchTransformersInFloat32) {
  const auto expected = testing::read_floats(testing::golden_folder(GetParam()) + "/expected.safetensors");
  for (const bool deterministic : {false, true}) {
    if (deterministic && testing::device() != "cpu") continue;
    const auto decoder = load(GetParam(), "float32", deterministic);
    const auto ids = testing::to_ids(expected.at("ids"));
    const auto hidden = decoder->hidden(testing::one_sequence(ids));
    const float logits = largest_difference(decoder->logits(hidden), expected.at("logits"));
    EXPECT_LE(logits, bound_in_float32(GetParam()));
    const auto rows = static_cast<std::int64_t>(ids.size()) - 1;
    const float logprobs = largest_difference(
        decoder->selected_logprobs(hidden.narrow(0, 0, rows), {ids.begin() + 1, ids.end()}, 1.0F).detach(),
        expected.at("logprobs"));
    EXPECT_LE(logprobs, bound_in_float32(GetParam()));
    RecordProperty(deterministic ? "deterministic_logits" : "logits", cat(logits));
    RecordProperty(deterministic ? "deterministic_logprobs" : "logprobs", cat(logprobs));
  }
}

// The experts that a float32 pass used; empty for a model without any.
std::vector<ExpertId> experts_used(const std::string& variant, ForwardInput input) {
  std::vector<ExpertId> used;
  input.used_experts = &used;
  (void)load(variant, "float32", false)->hidden(input);
  return used;
}

// Rounding weights' products to 8 bits of mantissa: logits of about 3 differ by a few hundredths. Tokens
// go to the experts that float32 chose: an undecided router would make another model of it.
TEST_P(GoldenLogits, StayCloseInBfloat16) {
  const auto expected = testing::read_floats(testing::golden_folder(GetParam()) + "/expected.safetensors");
  const auto decoder = load(GetParam(), "bfloat16", false);
  ForwardInput input = testing::one_sequence(testing::to_ids(expected.at("ids")));
  input.replayed_experts = experts_used(GetParam(), input);
  const auto hidden = decoder->hidden(input);
  const float difference = largest_difference(decoder->logits(hidden), expected.at("logits"));
  EXPECT_LE(difference, is_hybrid(GetParam()) ? 0.65F : 0.1F);
  EXPECT_GT(difference, 1e-4F);  // it really computed in bfloat16
}

INSTANTIATE_TEST_SUITE_P(Variants, GoldenLogits, ::testing::ValuesIn(kVariants));

// The parts of a fused parameter's gradient by Hugging Face name.
std::vector<NamedTensor> gradients_by_name(Decoder& decoder) {
  std::map<const void*, at::Tensor> gradients;
  std::vector<NamedTensor> result;
  for (const auto& fused : decoder.parameters()) {
    for (const auto& view : decoder.hugging_face_tensors()) {
      const auto offset = static_cast<const char*>(view.tensor.const_data_ptr()) -
                          static_cast<const char*>(fused.tensor.const_data_ptr());
      if (offset < 0 || offset >= static_cast<std::ptrdiff_t>(fused.tensor.nbytes())) continue;
      const std::int64_t row = offset / static_cast<std::ptrdiff_t>(sizeof(float)) / fused.tensor.stride(0);
      const at::Tensor gradient = fused.tensor.grad();  // undefined for an expert that no token met
      result.push_back({view.name, gradient.defined() ? gradient.narrow(0, row, view.tensor.size(0))
                                                      : at::zeros_like(view.tensor)});
    }
  }
  return result;
}

class GoldenGradients : public ::testing::TestWithParam<std::tuple<const char*, bool>> {};

TEST_P(GoldenGradients, MatchTransformers) {
  const auto [variant, deterministic] = GetParam();
  if (deterministic && testing::device() != "cpu") GTEST_SKIP() << "engine.deterministic needs the CPU";
  const auto expected = testing::read_floats(testing::golden_folder(variant) + "/expected.safetensors");
  auto ids = testing::to_ids(expected.at("ids"));
  const auto decoder = load(variant, "float32", deterministic);
  const auto hidden = decoder->hidden(testing::one_sequence(ids));
  const auto rows = static_cast<std::int64_t>(ids.size()) - 1;
  const std::vector<std::int64_t> targets(ids.begin() + 1, ids.end());
  const at::Tensor loss =
      at::mean(decoder->selected_logprobs(hidden.narrow(0, 0, rows), targets, 1.0F)).neg();
  EXPECT_NEAR(loss.item<float>(), expected.at("loss")[0], 2e-6F);
  loss.backward();
  std::size_t compared = 0;
  float worst = 0;
  for (const auto& [name, gradient] : gradients_by_name(*decoder)) {
    const auto& values = expected.at("grad." + name);
    const float relative = largest_difference(gradient, values) / std::max(largest(values), 1e-6F);
    EXPECT_LE(relative, bound_in_float32(variant)) << name;
    worst = std::max(worst, relative);
    ++compared;
  }
  RecordProperty(deterministic ? "deterministic_gradients" : "gradients", cat(worst));
  EXPECT_EQ(compared, expected.size() - 4);  // ids, logits, logprobs, loss
}

INSTANTIATE_TEST_SUITE_P(Variants, GoldenGradients,
                         ::testing::Combine(::testing::ValuesIn(kVariants), ::testing::Bool()));

// A second backward adds to the first one's gradients.
TEST(Gradients, AddUp) {
  const auto decoder = testing::tiny_decoder();
  const std::vector<std::int64_t> ids{3, 1, 4, 1, 5}, targets{1, 4, 1, 5, 9};
  std::vector<at::Tensor> once;
  for (int pass = 0; pass < 2; ++pass) {
    at::mean(decoder->selected_logprobs(decoder->hidden(testing::one_sequence(ids)), targets, 1.0F))
        .backward();
    if (pass > 0) break;
    for (const auto& parameter : decoder->parameters()) once.push_back(parameter.tensor.grad().clone());
  }
  for (std::size_t i = 0; i < once.size(); ++i) {
    const at::Tensor twice = decoder->parameters()[i].tensor.grad();
    EXPECT_TRUE(twice.allclose(once[i].mul(2), 1e-5, 1e-7)) << decoder->parameters()[i].name;
  }
}
}  // namespace
}  // namespace corisco::model
