#include "model/transformer.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/core/grad_mode.h>

#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"
#include "model/linear.h"

namespace corisco::model {
namespace {
std::unique_ptr<Ops> make_ops(const DecoderConfig& config, OpsKind kind, bool deterministic) {
  OpsOptions options{.heads = {config.num_heads, config.num_kv_heads, config.head_dim},
                     .rope = rope_frequencies(config.rope, config.turned_dim()),
                     .delta = config.delta,
                     .sliding_window = config.sliding_window,
                     .norm_epsilon = static_cast<float>(config.norm_epsilon),
                     .norm_offset = config.norms_from_one ? 1.0F : 0.0F,
                     .tile_rows = deterministic ? kTileRows : 0};
  return kind == OpsKind::own_kernels ? make_cpu_ops(std::move(options)) : make_aten_ops(std::move(options));
}

// The columns of queries and their gates, which alternate head by head, apart: queries, keys and values; gates.
std::pair<at::Tensor, at::Tensor> without_gate(const DecoderConfig& config, const at::Tensor& gated) {
  const std::int64_t width = config.num_heads * config.head_dim, rows = gated.size(0);
  const at::Tensor heads = gated.narrow(1, 0, 2 * width).view({rows, config.num_heads, 2, config.head_dim});
  return {at::cat({heads.select(2, 0).flatten(1), gated.narrow(1, 2 * width, gated.size(1) - 2 * width)}, 1),
          heads.select(2, 1).reshape({rows, width})};
}

// Columns that go key head by key head, [q k v z] each and then [b a] each, in DeltaShape's order.
at::Tensor by_kind(const DeltaShape& shape, const at::Tensor& projected) {
  const std::int64_t values = shape.group() * shape.value_dim, heads = shape.num_key_heads;
  const std::int64_t wide = shape.mixed_width() + shape.value_width();
  const auto wide_parts = projected.narrow(1, 0, wide).unflatten(1, {heads, -1}).split_with_sizes(
      {shape.key_dim, shape.key_dim, values, values}, 2);
  const auto gates = projected.narrow(1, wide, 2 * shape.num_value_heads)
                         .unflatten(1, {heads, -1})
                         .split_with_sizes({shape.group(), shape.group()}, 2);
  std::vector<at::Tensor> parts;
  for (const auto& list : {wide_parts, gates}) {
    for (const auto& part : list) parts.push_back(part.flatten(1));
  }
  return at::cat(parts, 1);
}

std::size_t routed_size(const DecoderConfig& config, const ForwardInput& input) {
  return input.token_ids.size() * static_cast<std::size_t>(config.experts_per_row());
}
}  // namespace

Transformer::Transformer(DecoderConfig config, DecoderWeights weights, OpsKind kind, bool deterministic)
    : config_(std::move(config)),
      weights_(std::move(weights)),
      kind_(kind),
      deterministic_(deterministic),
      ops_(make_ops(config_, kind, deterministic)) {}

// Pre-norm blocks. The residual stream and what the last block adds to it go separately, so that
// the addition happens inside the next norm.
at::Tensor Transformer::hidden(const ForwardInput& input) {
  check(input);
  const at::AutoGradMode records(at::GradMode::is_enabled() && input.cache == nullptr);
  if (input.used_experts) input.used_experts->assign(routed_size(config_, input), kRouterChooses);
  const auto pass = ops_->begin(input);
  at::Tensor stream = ops_->embed(weights_.embedding, input.token_ids), addend;
  for (std::size_t i = 0; i < weights_.layers.size(); ++i) {
    addend = layer(i, stream, addend, input, pass);
    if (between_layers_ && input.cache == nullptr) pause_after(addend);
  }
  return ops_->norm(stream, addend, weights_.final_norm).output;
}

void Transformer::pause_after(const at::Tensor& layer_output) const {
  between_layers_();
  if (layer_output.requires_grad()) layer_output.register_hook([this](const at::Tensor&) { between_layers_(); });
}

at::Tensor Transformer::layer(std::size_t index, at::Tensor& stream, const at::Tensor& addend,
                              const ForwardInput& input, const std::shared_ptr<Pass>& pass) const {
  const LayerWeights& weights = weights_.layers[index];
  Normed normed = ops_->norm(stream, addend, weights.attention_norm);
  const at::Tensor mixed = config_.is_linear(index) ? delta_net(index, normed.output, input, pass)
                                                    : attention(index, normed.output, input, pass);
  normed = ops_->norm(normed.sum, mixed, weights.mlp_norm);
  stream = normed.sum;
  return mlp(index, normed.output, input);
}

at::Tensor Transformer::attention(std::size_t index, const at::Tensor& x, const ForwardInput& input,
                                  const std::shared_ptr<Pass>& pass) const {
  const LayerWeights& weights = weights_.layers[index];
  at::Tensor qkv = ops_->linear(x, weights.qkv, weights.qkv_bias), gate;
  if (config_.gates_attention) std::tie(qkv, gate) = without_gate(config_, qkv);
  if (weights.query_norm.defined()) qkv = ops_->norm_heads(qkv, weights.query_norm, weights.key_norm);
  at::Tensor attended = ops_->attention(qkv, pass, input.cache, {place_in_cache(index), config_.is_sliding(index)});
  if (gate.defined()) attended = ops_->gated(attended, gate);
  return ops_->linear(attended, weights.attention_output, weights.attention_output_bias);
}

at::Tensor Transformer::delta_net(std::size_t index, const at::Tensor& x, const ForwardInput& input,
                                  const std::shared_ptr<Pass>& pass) const {
  const LayerWeights& weights = weights_.layers[index];
  at::Tensor projected = ops_->linear(x, weights.delta_input, {});
  if (config_.delta_rows_by_head) projected = by_kind(config_.delta, projected);
  const at::Tensor output = ops_->delta_net(projected, {weights.delta, place_in_cache(index)}, pass, input.cache);
  return ops_->linear(output, weights.delta_output, {});
}

// Among the layers of its kind: those with attention have keys and values, the others states.
std::size_t Transformer::place_in_cache(std::size_t index) const {
  std::size_t place = 0;
  for (std::size_t i = 0; i < index; ++i) place += config_.is_linear(i) == config_.is_linear(index) ? 1 : 0;
  return place;
}

at::Tensor Transformer::mlp(std::size_t index, const at::Tensor& x, const ForwardInput& input) const {
  const LayerWeights& weights = weights_.layers[index];
  if (weights.router.defined()) return mix_experts(*ops_, config_, weights, x, routing(index, input));
  const at::Tensor gated = ops_->swiglu(ops_->linear(x, weights.gate_up, weights.gate_up_bias));
  return ops_->linear(gated, weights.down, weights.down_bias);
}

LayerRouting Transformer::routing(std::size_t index, const ForwardInput& input) const {
  std::int64_t first = 0;
  for (std::size_t i = 0; i < index; ++i) first += config_.has_experts(i) ? config_.experts_per_token : 0;
  return {.replayed = input.replayed_experts.empty() ? nullptr : input.replayed_experts.data() + first,
          .used = input.used_experts ? input.used_experts->data() + first : nullptr,
          .stride = static_cast<std::size_t>(config_.experts_per_row()),
          .num_rerouted = input.num_rerouted};
}

at::Tensor Transformer::logits(const at::Tensor& hidden) {
  const at::NoGradGuard no_grad;
  return ops_->logits(hidden, weights_.head);
}

at::Tensor Transformer::selected_logprobs(const at::Tensor& hidden, const std::vector<std::int64_t>& targets,
                                          float temperature) {
  CORISCO_ASSERT(static_cast<std::size_t>(hidden.size(0)) == targets.size(),
                 cat(hidden.size(0), " rows, ", targets.size(), " targets"));
  CORISCO_ASSERT(temperature > 0, cat("temperature ", temperature));
  for (const auto target : targets) {
    CORISCO_ASSERT(target >= 0 && target < config_.vocab_size, cat("target ", target));
  }
  return ops_->selected_logprobs(hidden, weights_.head, targets, temperature);
}

void Transformer::refresh_derived() {
  for (const auto& weight : linear_weights(weights_)) ops_->refresh(weight);
}

KvStore Transformer::make_kv_store(std::int64_t rows, std::int64_t num_states) const {
  KvStore store;
  const DeltaShape& delta = config_.delta;
  for (std::int64_t i = 0; i < config_.num_linear_layers(); ++i) {
    store.states.push_back(at::empty({num_states, delta.num_key_heads, delta.state_floats()},
                                     weights_.embedding.options().dtype(at::kFloat).requires_grad(false)));
  }
  for (std::int64_t i = 0; i < config_.num_attention_layers(); ++i) {
    const std::vector<std::int64_t> shape{rows, config_.num_kv_heads, config_.head_dim};
    store.keys.push_back(at::empty(shape, weights_.embedding.options().requires_grad(false)));
    store.values.push_back(at::empty(shape, weights_.embedding.options().requires_grad(false)));
  }
  return store;
}

std::int64_t Transformer::kv_bytes_per_token() const {
  return 2 * config_.num_attention_layers() * config_.num_kv_heads * config_.head_dim *
         weights_.embedding.element_size();
}

std::int64_t Transformer::state_bytes() const {
  if (!config_.delta.exists()) return 0;
  return config_.num_linear_layers() * config_.delta.num_key_heads * config_.delta.state_floats() *
         static_cast<std::int64_t>(sizeof(float));
}

std::unique_ptr<Decoder> Transformer::frozen_copy() {
  return std::make_unique<Transformer>(config_, clone_frozen(weights_), kind_, deterministic_);
}

// The kernels follow ids, slots and spans without looking: a wrong one must not get that far.
void Transformer::check(const ForwardInput& input) const {
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
  CORISCO_ASSERT(input.states.size() == (input.cache == nullptr || !config_.delta.exists() ? 0 : rows),
                 cat(rows, " tokens, ", input.states.size(), " state slots"));
  const std::int64_t num_states =
      input.cache == nullptr || input.cache->states.empty() ? 0 : input.cache->states.front().size(0);
  for (const auto state : input.states) {
    CORISCO_ASSERT(state >= 0 && state < num_states, cat("state slot ", state, " of ", num_states));
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
  if (!input.replayed_experts.empty()) check_experts(input);
}

void Transformer::check_experts(const ForwardInput& input) const {
  const auto& ids = input.replayed_experts;
  const auto per_token = static_cast<std::size_t>(config_.experts_per_token);
  CORISCO_ASSERT(ids.size() == routed_size(config_, input),
                 cat(ids.size(), " replayed experts instead of ", routed_size(config_, input)));
  for (std::size_t first = 0; first < ids.size(); first += per_token) {
    if (ids[first] == kRouterChooses) continue;
    const std::set<ExpertId> chosen(ids.data() + first, ids.data() + first + per_token);
    CORISCO_ASSERT(chosen.size() == per_token && *chosen.rbegin() < config_.num_experts,
                   cat("replayed experts at ", first, " are not ", per_token, " of ", config_.num_experts));
  }
}

void KvStore::copy_state(std::int64_t from, std::int64_t to) const {
  const at::NoGradGuard no_grad;
  for (const auto& layer : states) layer.select(0, to).copy_(layer.select(0, from));
}
}  // namespace corisco::model
