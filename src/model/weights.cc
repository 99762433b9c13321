#include "model/weights.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <numbers>

#include "corisco/base/random.h"
#include "corisco/base/strings.h"

namespace corisco::model {
namespace {
struct Widths {
  explicit Widths(const DecoderConfig& config)
      : hidden(config.hidden_size),
        query(config.num_heads * config.head_dim),
        gated_query(config.gates_attention ? 2 * query : query),
        kv(config.num_kv_heads * config.head_dim),
        mlp(config.intermediate_size),
        expert(config.expert_intermediate_size) {}
  std::int64_t hidden, query, gated_query, kv, mlp, expert;
};

void allocate_attention(const DecoderConfig& config, const auto& make, LayerWeights& layer) {
  const Widths widths(config);
  layer.qkv = make({widths.gated_query + 2 * widths.kv, widths.hidden});
  if (config.qkv_bias) layer.qkv_bias = make({widths.gated_query + 2 * widths.kv});
  if (config.norms_heads) {
    layer.query_norm = make({config.head_dim});
    layer.key_norm = make({config.head_dim});
  }
  layer.attention_output = make({widths.hidden, widths.query});
  if (config.attention_output_bias) layer.attention_output_bias = make({widths.hidden});
}

void allocate_mlp(const DecoderConfig& config, const auto& make, LayerWeights& layer) {
  const Widths widths(config);
  layer.gate_up = make({2 * widths.mlp, widths.hidden});
  layer.down = make({widths.hidden, widths.mlp});
  if (!config.mlp_bias) return;
  layer.gate_up_bias = make({2 * widths.mlp});
  layer.down_bias = make({widths.hidden});
}

void allocate_delta(const DecoderConfig& config, const auto& make, LayerWeights& layer) {
  const DeltaShape& shape = config.delta;
  layer.delta_input = make({shape.projected_width(), config.hidden_size});
  layer.delta = {.conv = make({shape.mixed_width(), 1, shape.kernel}),
                 .a_log = make({shape.num_value_heads}),
                 .dt_bias = make({shape.num_value_heads}),
                 .norm = make({shape.value_dim})};
  layer.delta_output = make({config.hidden_size, shape.value_width()});
}

// Each expert a leaf of its own: the gradients of those that no token met take no memory traffic. Where files
// hold all of a layer's in one tensor, the leaves are its parts.
void allocate_experts(const DecoderConfig& config, const auto& make, LayerWeights& layer) {
  const Widths widths(config);
  layer.router = make({config.num_experts, widths.hidden});
  ExpertWeights& stacked = layer.stacked_experts;
  if (config.stacks_experts) {
    stacked = {make({config.num_experts, 2 * widths.expert, widths.hidden}).detach(),
               make({config.num_experts, widths.hidden, widths.expert}).detach()};
  }
  for (std::int64_t i = 0; i < config.num_experts; ++i) {
    if (config.stacks_experts) {
      layer.experts.push_back({stacked.gate_up.select(0, i).detach().requires_grad_(true),
                               stacked.down.select(0, i).detach().requires_grad_(true)});
    } else {
      layer.experts.push_back({make({2 * widths.expert, widths.hidden}), make({widths.hidden, widths.expert})});
    }
  }
  if (config.shared_expert_intermediate_size == 0) return;
  const std::int64_t shared = config.shared_expert_intermediate_size;
  layer.shared_expert = {make({2 * shared, widths.hidden}), make({widths.hidden, shared})};
  layer.shared_gate = make({1, widths.hidden});
}

LayerWeights allocate_layer(const DecoderConfig& config, std::size_t index, const auto& make) {
  LayerWeights layer;
  layer.attention_norm = make({config.hidden_size});
  if (config.is_linear(index)) allocate_delta(config, make, layer);
  else allocate_attention(config, make, layer);
  layer.mlp_norm = make({config.hidden_size});
  if (config.has_experts(index)) allocate_experts(config, make, layer);
  else allocate_mlp(config, make, layer);
  return layer;
}

// Calls visit(name, tensor) for every tensor of a layer that exists.
template <class Layer, class Visit>
void visit_layer(Layer& layer, Visit visit) {
  const auto defined = [&visit](const std::string& name, auto& tensor) {
    if (tensor.defined()) visit(name, tensor);
  };
  defined("input_layernorm.weight", layer.attention_norm);
  defined("self_attn.qkv_proj.weight", layer.qkv);
  defined("self_attn.qkv_proj.bias", layer.qkv_bias);
  defined("self_attn.q_norm.weight", layer.query_norm);
  defined("self_attn.k_norm.weight", layer.key_norm);
  defined("self_attn.o_proj.weight", layer.attention_output);
  defined("self_attn.o_proj.bias", layer.attention_output_bias);
  defined("linear_attn.in_proj.weight", layer.delta_input);
  defined("linear_attn.conv1d.weight", layer.delta.conv);
  defined("linear_attn.A_log", layer.delta.a_log);
  defined("linear_attn.dt_bias", layer.delta.dt_bias);
  defined("linear_attn.norm.weight", layer.delta.norm);
  defined("linear_attn.out_proj.weight", layer.delta_output);
  defined("post_attention_layernorm.weight", layer.mlp_norm);
  defined("mlp.gate_up_proj.weight", layer.gate_up);
  defined("mlp.gate_up_proj.bias", layer.gate_up_bias);
  defined("mlp.down_proj.weight", layer.down);
  defined("mlp.down_proj.bias", layer.down_bias);
  defined("mlp.gate.weight", layer.router);
  for (std::size_t i = 0; i < layer.experts.size(); ++i) {
    visit(cat("mlp.experts.", i, ".gate_up_proj.weight"), layer.experts[i].gate_up);
    visit(cat("mlp.experts.", i, ".down_proj.weight"), layer.experts[i].down);
  }
  defined("mlp.shared_expert.gate_up_proj.weight", layer.shared_expert.gate_up);
  defined("mlp.shared_expert.down_proj.weight", layer.shared_expert.down);
  defined("mlp.shared_expert_gate.weight", layer.shared_gate);
}

// Box and Muller 1958, two uniforms per number.
void fill_normal(const at::Tensor& tensor, float deviation, std::uint64_t key) {
  at::Tensor values = at::empty(tensor.sizes(), at::kFloat);
  float* to = values.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    const auto counter = static_cast<std::uint64_t>(i) * 2;
    const double radius = std::sqrt(-2 * std::log(uniform(key, counter)));
    to[i] =
        deviation * static_cast<float>(radius * std::cos(2 * std::numbers::pi * uniform(key, counter + 1)));
  }
  tensor.copy_(values);
}

at::Tensor frozen(const at::Tensor& tensor) { return tensor.defined() ? tensor.detach().clone() : tensor; }
}  // namespace

DecoderWeights allocate_weights(const DecoderConfig& config, at::ScalarType type, const std::string& device) {
  const auto options = at::TensorOptions().dtype(type).device(at::Device(device));
  const auto make = [&options](std::vector<std::int64_t> shape) {
    return at::empty(shape, options).requires_grad_(true);
  };
  DecoderWeights weights;
  weights.embedding = make({config.vocab_size, config.hidden_size});
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    weights.layers.push_back(allocate_layer(config, static_cast<std::size_t>(i), make));
  }
  weights.final_norm = make({config.hidden_size});
  weights.head = config.tie_embeddings ? weights.embedding : make({config.vocab_size, config.hidden_size});
  return weights;
}

std::vector<NamedTensor> fused_parameters(const DecoderWeights& weights) {
  std::vector<NamedTensor> list{{"model.embed_tokens.weight", weights.embedding}};
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    visit_layer(weights.layers[i], [&](const std::string& name, const at::Tensor& tensor) {
      list.push_back({cat("model.layers.", i, ".", name), tensor});
    });
  }
  list.push_back({"model.norm.weight", weights.final_norm});
  if (!weights.head.is_same(weights.embedding)) list.push_back({"lm_head.weight", weights.head});
  return list;
}

std::vector<at::Tensor> linear_weights(const DecoderWeights& weights) {
  std::vector<at::Tensor> list;
  for (const auto& layer : weights.layers) {
    for (const auto& weight : {layer.qkv, layer.attention_output, layer.delta_input, layer.delta_output,
                               layer.gate_up, layer.down, layer.router, layer.shared_expert.gate_up,
                               layer.shared_expert.down, layer.shared_gate}) {
      if (weight.defined()) list.push_back(weight);
    }
    for (const auto& expert : layer.experts) list.insert(list.end(), {expert.gate_up, expert.down});
  }
  list.push_back(weights.head);
  return list;
}

void randomise_weights(const DecoderConfig& config, DecoderWeights& weights, std::uint64_t seed) {
  std::uint64_t index = 0;
  for (const auto& [name, tensor] : hugging_face_views(config, weights)) {
    const bool is_norm = ends_with(name, "norm.weight"), is_inner = ends_with(name, "linear_attn.norm.weight");
    if (is_norm) tensor.fill_(config.norms_from_one && !is_inner ? 0 : 1);
    else if (ends_with(name, ".bias")) tensor.zero_();
    else fill_normal(tensor, 0.02F, hash_words({seed, index}));
    ++index;
  }
}

DecoderWeights clone_frozen(const DecoderWeights& weights) {
  DecoderWeights copy = weights;
  copy.embedding = frozen(weights.embedding);
  copy.head = weights.head.is_same(weights.embedding) ? copy.embedding : frozen(weights.head);
  copy.final_norm = frozen(weights.final_norm);
  for (auto& layer : copy.layers) {
    visit_layer(layer, [](const std::string&, at::Tensor& tensor) { tensor = frozen(tensor); });
    layer.stacked_experts = {};  // the copies of its experts lie apart
  }
  return copy;
}
}  // namespace corisco::model
