// A decoder whose logits are a hash of the tokens that a row really sees in the cache: a wrong
// slot, span, position or block shows as another reply. Exact, so replies can be predicted.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "corisco/base/assert.h"
#include "corisco/base/random.h"
#include "corisco/model/decoder.h"
#include "corisco/types/call.h"

namespace corisco::engine {
class FakeDecoder final : public model::Decoder {
 public:
  explicit FakeDecoder(std::int64_t vocabulary = 300, std::int64_t max_position = 200) {
    config_.vocab_size = vocabulary;
    config_.max_position = max_position;
  }

  // What follows context, by the weights' number: one row of logits.
  static std::vector<float> logits_after(const std::vector<TokenId>& context, std::uint64_t weights,
                                         std::int64_t vocabulary) {
    return row_of(hash_words({hash_ids(context), weights}), vocabulary);
  }

  void set_between_layers(std::function<void()>) override {}
  at::Tensor hidden(const model::ForwardInput& input) override {
    if (fails_next) {
      fails_next = false;
      throw std::runtime_error("the device is gone");
    }
    const auto num_rows = static_cast<std::int64_t>(input.token_ids.size());
    CORISCO_ASSERT(input.cache != nullptr && input.slots.size() == input.token_ids.size(), "no cache");
    num_tokens += input.token_ids.size();
    auto* cached = input.cache->keys.at(0).mutable_data_ptr<std::int64_t>();
    for (std::int64_t t = 0; t < num_rows; ++t) cached[input.slots[t]] = input.token_ids[t];
    at::Tensor out = at::empty({num_rows, 1}, at::kLong);
    for (std::int64_t t = 0; t < num_rows; ++t) {
      const auto context = context_of(input, t, cached);
      CORISCO_ASSERT(static_cast<std::int64_t>(context.size()) == input.positions[t] + 1, "keys");
      out.mutable_data_ptr<std::int64_t>()[t] =
          static_cast<std::int64_t>(hash_words({hash_ids(context), weights}));
    }
    return out;
  }

  at::Tensor logits(const at::Tensor& hidden) override {
    logit_rows_max = std::max(logit_rows_max, hidden.size(0));
    at::Tensor out = at::empty({hidden.size(0), config_.vocab_size}, at::kFloat);
    for (std::int64_t n = 0; n < hidden.size(0); ++n) {
      auto row = row_of(static_cast<std::uint64_t>(hidden.const_data_ptr<std::int64_t>()[n]),
                        config_.vocab_size);
      if (damaged_row == n) row[5] = std::numeric_limits<float>::infinity();
      std::copy(row.begin(), row.end(), out.mutable_data_ptr<float>() + n * config_.vocab_size);
    }
    return out;
  }

  at::Tensor selected_logprobs(const at::Tensor&, const std::vector<std::int64_t>&, float) override {
    throw std::logic_error("not of an engine");
  }
  const model::DecoderConfig& config() const override { return config_; }
  std::vector<model::NamedTensor> parameters() override { return {}; }
  std::vector<model::NamedTensor> hugging_face_tensors() override { return {}; }
  model::KvStore make_kv_store(std::int64_t rows, std::int64_t) const override {
    ++num_kv_stores;
    model::KvStore store;
    store.keys.push_back(at::full({rows}, -1, at::kLong));
    return store;
  }
  std::int64_t kv_bytes_per_token() const override { return kv_bytes; }
  void refresh_derived() override {}
  std::unique_ptr<model::Decoder> frozen_copy() override { return nullptr; }

  std::uint64_t weights = 0;          // another number is another policy
  std::int64_t kv_bytes = 4096;
  std::int64_t damaged_row = -1;      // whose logits are not finite
  bool fails_next = false;
  std::uint64_t num_tokens = 0;       // forwarded
  std::int64_t logit_rows_max = 0;    // of one pass over the head
  mutable int num_kv_stores = 0;

 private:
  static std::vector<float> row_of(std::uint64_t hash, std::int64_t vocabulary) {
    std::vector<float> row(static_cast<std::size_t>(vocabulary));
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(uniform(hash, i) * 5);
    return row;
  }
  static std::vector<TokenId> context_of(const model::ForwardInput& input, std::int64_t t,
                                         const std::int64_t* cached) {
    std::vector<TokenId> context;
    for (std::int32_t i = input.attention.begin[t]; i < input.attention.begin[t + 1]; ++i) {
      const auto& span = input.attention.spans[i];
      for (std::int32_t row = span.first; row < span.first + span.length; ++row)
        context.push_back(static_cast<TokenId>(cached[row]));
    }
    return context;
  }

  model::DecoderConfig config_;
};
}  // namespace corisco::engine
