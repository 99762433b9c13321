#include "model/llama.h"

#include <ATen/ops/empty.h>
#include <ATen/core/grad_mode.h>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"
#include "model/linear.h"

namespace corisco::model {
namespace {
std::unique_ptr<Ops> make_ops(const DecoderConfig& config, OpsKind kind, bool deterministic) {
  OpsOptions options{.heads = {config.num_heads, config.num_kv_heads, config.head_dim},
                     .rope = rope_frequencies(config.rope, config.head_dim),
                     .norm_epsilon = static_cast<float>(config.norm_epsilon),
                     .tile_rows = deterministic ? kTileRows : 0};
  return kind == OpsKind::own_kernels ? make_cpu_ops(std::move(options)) : make_aten_ops(std::move(options));
}
}  // namespace

LlamaDecoder::LlamaDecoder(DecoderConfig config, LlamaWeights weights, OpsKind kind, bool deterministic)
    : config_(std::move(config)),
      weights_(std::move(weights)),
      kind_(kind),
      deterministic_(deterministic),
      ops_(make_ops(config_, kind, deterministic)) {}

// Pre-norm blocks. The residual stream and what the last block adds to it go separately, so that
// the addition happens inside the next norm.
at::Tensor LlamaDecoder::hidden(const ForwardInput& input) {
  check(input);
  const at::AutoGradMode records(at::GradMode::is_enabled() && input.cache == nullptr);
  const auto pass = ops_->begin(input);
  at::Tensor stream = ops_->embed(weights_.embedding, input.token_ids), addend;
  for (std::size_t i = 0; i < weights_.layers.size(); ++i) {
    addend = layer(weights_.layers[i], i, stream, addend, pass, input.cache);
    if (between_layers_ && input.cache == nullptr) pause_after(addend);
  }
  return ops_->norm(stream, addend, weights_.final_norm).output;
}

void LlamaDecoder::pause_after(const at::Tensor& layer_output) const {
  between_layers_();
  if (layer_output.requires_grad()) layer_output.register_hook([this](const at::Tensor&) { between_layers_(); });
}

at::Tensor LlamaDecoder::layer(const LayerWeights& weights, std::size_t index, at::Tensor& stream,
                               const at::Tensor& addend, const std::shared_ptr<Pass>& pass,
                               KvStore* cache) const {
  Normed normed = ops_->norm(stream, addend, weights.attention_norm);
  const at::Tensor qkv = ops_->linear(normed.output, weights.qkv, weights.qkv_bias);
  const at::Tensor attended = ops_->attention(qkv, pass, cache, index);
  const at::Tensor projected =
      ops_->linear(attended, weights.attention_output, weights.attention_output_bias);
  normed = ops_->norm(normed.sum, projected, weights.mlp_norm);
  stream = normed.sum;
  const at::Tensor gated = ops_->swiglu(ops_->linear(normed.output, weights.gate_up, weights.gate_up_bias));
  return ops_->linear(gated, weights.down, weights.down_bias);
}

at::Tensor LlamaDecoder::logits(const at::Tensor& hidden) {
  const at::NoGradGuard no_grad;
  return ops_->linear(hidden, weights_.head, {}).to(at::kFloat);
}

at::Tensor LlamaDecoder::selected_logprobs(const at::Tensor& hidden, const std::vector<std::int64_t>& targets,
                                           float temperature) {
  CORISCO_ASSERT(static_cast<std::size_t>(hidden.size(0)) == targets.size(),
                 cat(hidden.size(0), " rows, ", targets.size(), " targets"));
  CORISCO_ASSERT(temperature > 0, cat("temperature ", temperature));
  for (const auto target : targets) {
    CORISCO_ASSERT(target >= 0 && target < config_.vocab_size, cat("target ", target));
  }
  return ops_->selected_logprobs(hidden, weights_.head, targets, temperature);
}

void LlamaDecoder::refresh_derived() {
  for (const auto& layer : weights_.layers) {
    for (const auto* weight : {&layer.qkv, &layer.attention_output, &layer.gate_up, &layer.down}) {
      ops_->refresh(*weight);
    }
  }
  ops_->refresh(weights_.head);
}

KvStore LlamaDecoder::make_kv_store(std::int64_t rows) const {
  KvStore store;
  for (std::int64_t i = 0; i < config_.num_layers; ++i) {
    const std::vector<std::int64_t> shape{rows, config_.num_kv_heads, config_.head_dim};
    store.keys.push_back(at::empty(shape, weights_.embedding.options().requires_grad(false)));
    store.values.push_back(at::empty(shape, weights_.embedding.options().requires_grad(false)));
  }
  return store;
}

std::int64_t LlamaDecoder::kv_bytes_per_token() const {
  return 2 * config_.num_layers * config_.num_kv_heads * config_.head_dim * weights_.embedding.element_size();
}

std::unique_ptr<Decoder> LlamaDecoder::frozen_copy() {
  return std::make_unique<LlamaDecoder>(config_, clone_frozen(weights_), kind_, deterministic_);
}

// The kernels follow ids, slots and spans without looking: a wrong one must not get that far.
void LlamaDecoder::check(const ForwardInput& input) const {
  const std::size_t rows = input.token_ids.size();
  CORISCO_ASSERT(rows > 0, cat("a pass without tokens"));
  CORISCO_ASSERT(input.positions.size() == rows && input.attention.begin.size() == rows + 1,
                 cat(rows, " tokens, ", input.positions.size(), " positions, ", input.attention.begin.size(),
                     " span begins"));
  CORISCO_ASSERT(input.slots.size() == (input.cache == nullptr ? 0 : rows),
                 cat(rows, " tokens, ", input.slots.size(), " slots"));
  const std::int64_t num_keys =
      input.cache == nullptr ? static_cast<std::int64_t>(rows) : input.cache->keys.front().size(0);
  for (const auto id : input.token_ids) {
    CORISCO_ASSERT(id >= 0 && id < config_.vocab_size, cat("token ", id, " of ", config_.vocab_size));
  }
  for (const auto slot : input.slots) {
    CORISCO_ASSERT(slot >= 0 && slot < num_keys, cat("slot ", slot, " of ", num_keys));
  }
  for (const auto span : input.attention.spans) {
    CORISCO_ASSERT(span.first >= 0 && span.length >= 0 && span.first + std::int64_t{span.length} <= num_keys,
                   cat("span ", span.first, " + ", span.length, " of ", num_keys, " rows"));
  }
  for (std::size_t t = 0; t < rows; ++t) {
    const auto begin = input.attention.begin[t], end = input.attention.begin[t + 1];
    CORISCO_ASSERT(begin < end && end <= static_cast<std::int64_t>(input.attention.spans.size()),
                   cat("row ", t, " has spans ", begin, " to ", end));
  }
}
}  // namespace corisco::model
