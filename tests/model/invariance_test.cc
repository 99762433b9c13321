// One row, one result: alone, among others, through a paged cache in chunks, and in a training pass
// with shared prefixes. Bit for bit in deterministic mode, close otherwise.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <gtest/gtest.h>

#include <cmath>

#include "corisco/base/random.h"
#include "corisco/model/token_logprob.h"
#include "support/tiny_model.h"
#include "variants.h"

namespace corisco::model {
namespace {
using Ids = std::vector<std::int64_t>;

Ids random_ids(std::size_t count, std::uint64_t key) {
  Ids ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(static_cast<std::int64_t>(uniform(key, i) * 256));
  return ids;
}

// Wider than the tests' usual decoder, so that the products go through the library's real paths.
DecoderConfig wide_config() {
  DecoderConfig config = testing::tiny_config();
  config.hidden_size = 192;
  config.intermediate_size = 320;
  config.num_heads = 6;
  config.head_dim = 32;
  return config;
}

std::unique_ptr<Decoder> decoder_of(bool deterministic, const char* dtype = "float32",
                                    const DecoderConfig& config = wide_config()) {
  auto decoder = Decoder::random(config, dtype, deterministic, 11);
  const at::NoGradGuard no_grad;
  for (const auto& parameter : decoder->parameters()) {
    if (parameter.name.ends_with("bias")) parameter.tensor.fill_(0.1);
    else parameter.tensor.mul_(3);  // far from uniform
  }
  return decoder;
}

std::vector<float> to_numbers(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kFloat).contiguous();
  return {flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel()};
}

// Hidden states and logits of one run of rows, one after the other.
std::vector<float> results(Decoder& decoder, const at::Tensor& hidden) {
  auto numbers = to_numbers(hidden);
  const auto logits = to_numbers(decoder.logits(hidden));
  numbers.insert(numbers.end(), logits.begin(), logits.end());
  return numbers;
}

std::vector<float> alone(Decoder& decoder, const Ids& ids) {
  const at::NoGradGuard no_grad;
  return results(decoder, decoder.hidden(testing::one_sequence(ids)));
}

std::vector<float> among_others(Decoder& decoder, const Ids& ids) {
  const at::NoGradGuard no_grad;
  ForwardInput input;
  std::int64_t first = 0;
  for (std::uint64_t other = 0; other < 16; ++other) {
    if (other == 9) {
      first = static_cast<std::int64_t>(input.token_ids.size());
      testing::append_sequence(input, ids);
    } else {
      testing::append_sequence(input, random_ids(3 + other, 100 + other));
    }
  }
  const at::Tensor hidden = decoder.hidden(input);
  // The logits of all rows at once, as a step computes them.
  const auto count = static_cast<std::int64_t>(ids.size());
  auto numbers = to_numbers(hidden.narrow(0, first, count));
  const auto logits = to_numbers(decoder.logits(hidden).narrow(0, first, count));
  numbers.insert(numbers.end(), logits.begin(), logits.end());
  return numbers;
}

// Blocks of 4 rows in an order of their own: position p lies in row_of(p).
std::int32_t row_of(std::int64_t position) {
  static constexpr std::int32_t kBlocks[] = {7, 2, 9, 0, 5, 3, 8, 1, 6, 4};
  return kBlocks[position / 4] * 4 + static_cast<std::int32_t>(position % 4);
}

void append_cached(ForwardInput& input, const Ids& ids, std::int64_t from, std::int64_t to) {
  for (std::int64_t t = from; t < to; ++t) {
    input.token_ids.push_back(ids[static_cast<std::size_t>(t)]);
    input.positions.push_back(t);
    input.slots.push_back(row_of(t));
    for (std::int64_t block = 0; block <= t; block += 4) {
      input.attention.spans.push_back(
          {row_of(block), static_cast<std::int32_t>(std::min<std::int64_t>(4, t + 1 - block))});
    }
    input.attention.end_row();
  }
}

// Prompt in two chunks of 7 and 5, then one token at a time, sharing passes with another sequence.
std::vector<float> through_cache(Decoder& decoder, const Ids& ids) {
  const at::NoGradGuard no_grad;
  KvStore cache = decoder.make_kv_store(48, 2);
  std::vector<float> hidden_numbers, logit_numbers;
  std::vector<std::int64_t> ends{7, 12};
  for (std::int64_t t = 13; t <= static_cast<std::int64_t>(ids.size()); ++t) ends.push_back(t);
  std::int64_t from = 0;
  for (const auto to : ends) {
    ForwardInput input;
    input.cache = &cache;
    input.token_ids = {5};  // a stranger of one token before ours
    input.positions = {0};
    input.slots = {44};
    input.attention.spans = {{44, 1}};
    input.attention.end_row();
    append_cached(input, ids, from, to);
    if (decoder.config().delta.exists()) {
      input.states.assign(input.token_ids.size(), 0);
      input.states.front() = 1;
    }
    const at::Tensor hidden = decoder.hidden(input).narrow(0, 1, to - from);
    for (const float x : to_numbers(hidden)) hidden_numbers.push_back(x);
    for (const float x : to_numbers(decoder.logits(hidden))) logit_numbers.push_back(x);
    from = to;
  }
  hidden_numbers.insert(hidden_numbers.end(), logit_numbers.begin(), logit_numbers.end());
  return hidden_numbers;
}

// Two rows that share their first 10 tokens, computed once; ours is the second.
std::vector<float> in_training(Decoder& decoder, const Ids& ids) {
  constexpr std::int32_t kShared = 10;
  ForwardInput input = testing::one_sequence(random_ids(5, 3));
  const auto first = static_cast<std::int32_t>(input.token_ids.size());
  Ids sibling(ids.begin(), ids.begin() + kShared);
  for (const auto id : random_ids(6, 4)) sibling.push_back(id);
  testing::append_sequence(input, sibling);
  const auto tail = static_cast<std::int32_t>(input.token_ids.size());
  for (std::size_t t = kShared; t < ids.size(); ++t) {
    input.token_ids.push_back(ids[t]);
    input.positions.push_back(static_cast<std::int64_t>(t));
    input.attention.spans.push_back({first, kShared});
    input.attention.spans.push_back({tail, static_cast<std::int32_t>(t) - kShared + 1});
    input.attention.end_row();
  }
  const at::Tensor all = decoder.hidden(input);
  EXPECT_TRUE(all.requires_grad());
  const at::Tensor hidden = at::cat(
      {all.narrow(0, first, kShared), all.narrow(0, tail, static_cast<std::int64_t>(ids.size()) - kShared)});
  return results(decoder, hidden);
}

void expect_close(const std::vector<float>& result, const std::vector<float>& expected) {
  ASSERT_EQ(result.size(), expected.size());
  for (std::size_t i = 0; i < result.size(); ++i) ASSERT_NEAR(result[i], expected[i], 1e-4F) << i;
}

class EachVariant : public ::testing::TestWithParam<testing::Variant> {};
INSTANTIATE_TEST_SUITE_P(Invariance, EachVariant, ::testing::ValuesIn(testing::variants(wide_config())),
                         [](const auto& instance) { return instance.param.name; });

TEST_P(EachVariant, IsBitForBitWhenDeterministic) {
  for (const char* dtype : {"float32", "bfloat16"}) {
    const auto decoder = decoder_of(true, dtype, GetParam().config);
    const Ids ids = random_ids(37, 1);
    const auto expected = alone(*decoder, ids);
    EXPECT_EQ(among_others(*decoder, ids), expected) << dtype;
    EXPECT_EQ(through_cache(*decoder, ids), expected) << dtype;
    EXPECT_EQ(in_training(*decoder, ids), expected) << dtype;
  }
}

TEST_P(EachVariant, IsCloseOtherwise) {
  const auto decoder = decoder_of(false, "float32", GetParam().config);
  const Ids ids = random_ids(37, 1);
  const auto expected = alone(*decoder, ids);
  expect_close(among_others(*decoder, ids), expected);
  expect_close(through_cache(*decoder, ids), expected);
  expect_close(in_training(*decoder, ids), expected);
}

// The engine sizes its cache by these figures; a token and a state take exactly what they say.
TEST_P(EachVariant, TakesTheMemoryThatIsComputed) {
  constexpr std::int64_t kRows = 48, kStates = 3;
  for (const char* dtype : {"float32", "bfloat16"}) {
    const auto decoder = decoder_of(true, dtype, GetParam().config);
    const KvStore store = decoder->make_kv_store(kRows, kStates);
    std::int64_t bytes = 0;
    for (const auto* tensors : {&store.keys, &store.values, &store.states})
      for (const auto& tensor : *tensors) bytes += static_cast<std::int64_t>(tensor.nbytes());
    EXPECT_EQ(bytes, kRows * decoder->kv_bytes_per_token() + kStates * decoder->state_bytes()) << dtype;
    EXPECT_EQ(decoder->state_bytes() > 0, GetParam().config.delta.exists());
  }
}

// The packed copies follow the weights, with and without being told.
TEST(Invariance, DerivedCopiesAreNeverStale) {
  const Ids ids = random_ids(9, 7);
  for (const bool is_told : {false, true}) {
    const auto decoder = decoder_of(false), moved = decoder_of(false);
    alone(*moved, ids);  // packs
    for (const auto& view : moved->hugging_face_tensors()) view.tensor.mul_(1.5);
    if (is_told) moved->refresh_derived();
    for (const auto& view : decoder->hugging_face_tensors()) view.tensor.mul_(1.5);
    EXPECT_EQ(alone(*moved, ids), alone(*decoder, ids));
  }
}

// What the engine records is what the trainer computes, more than one chunk of rows included.
TEST(Invariance, SelectedLogprobsEqualTokenLogprob) {
  const auto decoder = decoder_of(true);
  const Ids ids = random_ids(150, 2), targets = random_ids(150, 3);
  const at::Tensor hidden = decoder->hidden(testing::one_sequence(ids));
  const at::Tensor selected = decoder->selected_logprobs(hidden, targets, 0.7F);
  EXPECT_TRUE(selected.requires_grad());
  for (const std::int64_t row : {0, 31, 32, 77, 128, 149}) {
    const at::Tensor logits = decoder->logits(hidden.narrow(0, row, 1));
    EXPECT_EQ(
        token_logprob(logits.const_data_ptr<float>(), 256, targets[static_cast<std::size_t>(row)], 0.7F),
        to_numbers(selected)[static_cast<std::size_t>(row)]);
  }
}

// 64 rows and more share their backward among chunks and threads, always in the same way.
TEST_P(EachVariant, HasGradientsOfTheSameBitsEachTime) {
  std::vector<std::vector<float>> first;
  for (int run = 0; run < 2; ++run) {
    const auto decoder = decoder_of(true, "float32", GetParam().config);
    const Ids ids = random_ids(200, 5), targets = random_ids(200, 6);
    decoder->selected_logprobs(decoder->hidden(testing::one_sequence(ids)), targets, 1.0F).sum().backward();
    std::vector<std::vector<float>> gradients;
    for (const auto& parameter : decoder->parameters())
      gradients.push_back(to_numbers(parameter.tensor.grad()));
    if (run == 0) first = gradients;
    else EXPECT_EQ(gradients, first);
  }
}
}  // namespace
}  // namespace corisco::model
