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
        kv(config.num_kv_heads * config.head_dim),
        mlp(config.intermediate_size),
        expert(config.expert_intermediate_size) {}
  std::int64_t hidden, query, kv, mlp, expert;
};

// Puts the tensors of one layer into the list: first the weights of a module, then its bias.
class Views {
 public:
  explicit Views(std::vector<NamedTensor>& list) : list_(list) {}
  void whole(const std::string& name, const at::Tensor& tensor) { list_.push_back({name, tensor.detach()}); }
  // Rows first .. first + count - 1 of a fused weight and of its bias, if there is one.
  void part(const std::string& module, const at::Tensor& weight, const at::Tensor& bias, std::int64_t first,
            std::int64_t count) {
    whole(module + ".weight", weight.detach().narrow(0, first, count));
    if (bias.defined()) whole(module + ".bias", bias.detach().narrow(0, first, count));
  }

 private:
  std::vector<NamedTensor>& list_;
};

void append_mlp(std::int64_t width, std::int64_t hidden, const std::string& prefix, const auto& weights,
                const at::Tensor& gate_up_bias, const at::Tensor& down_bias, Views& views) {
  views.part(prefix + "gate_proj", weights.gate_up, gate_up_bias, 0, width);
  views.part(prefix + "up_proj", weights.gate_up, gate_up_bias, width, width);
  views.part(prefix + "down_proj", weights.down, down_bias, 0, hidden);
}

void append_layer(const Widths& widths, const LayerWeights& layer, const std::string& prefix, Views& views) {
  const std::string attention = prefix + "self_attn.", mlp = prefix + "mlp.";
  views.part(attention + "q_proj", layer.qkv, layer.qkv_bias, 0, widths.query);
  views.part(attention + "k_proj", layer.qkv, layer.qkv_bias, widths.query, widths.kv);
  views.part(attention + "v_proj", layer.qkv, layer.qkv_bias, widths.query + widths.kv, widths.kv);
  views.part(attention + "o_proj", layer.attention_output, layer.attention_output_bias, 0, widths.hidden);
  if (layer.query_norm.defined()) {
    views.whole(attention + "q_norm.weight", layer.query_norm);
    views.whole(attention + "k_norm.weight", layer.key_norm);
  }
  if (layer.router.defined()) {
    views.whole(mlp + "gate.weight", layer.router);
    for (std::size_t i = 0; i < layer.experts.size(); ++i) {
      append_mlp(widths.expert, widths.hidden, cat(mlp, "experts.", i, "."), layer.experts[i], {}, {}, views);
    }
  } else {
    append_mlp(widths.mlp, widths.hidden, mlp, layer, layer.gate_up_bias, layer.down_bias, views);
  }
  views.whole(prefix + "input_layernorm.weight", layer.attention_norm);
  views.whole(prefix + "post_attention_layernorm.weight", layer.mlp_norm);
}

void allocate_attention(const DecoderConfig& config, const auto& make, LayerWeights& layer) {
  const Widths widths(config);
  layer.qkv = make({widths.query + 2 * widths.kv, widths.hidden});
  if (config.qkv_bias) layer.qkv_bias = make({widths.query + 2 * widths.kv});
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

// Each expert a leaf of its own: the gradients of those that no token met take no memory traffic.
void allocate_experts(const DecoderConfig& config, const auto& make, LayerWeights& layer) {
  const Widths widths(config);
  layer.router = make({config.num_experts, widths.hidden});
  for (std::int64_t i = 0; i < config.num_experts; ++i) {
    layer.experts.push_back({make({2 * widths.expert, widths.hidden}), make({widths.hidden, widths.expert})});
  }
}

LayerWeights allocate_layer(const DecoderConfig& config, std::size_t index, const auto& make) {
  LayerWeights layer;
  layer.attention_norm = make({config.hidden_size});
  allocate_attention(config, make, layer);
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

std::vector<NamedTensor> hugging_face_views(const DecoderConfig& config, const DecoderWeights& weights) {
  std::vector<NamedTensor> list;
  Views views(list);
  views.whole("model.embed_tokens.weight", weights.embedding);
  const Widths widths(config);
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    append_layer(widths, weights.layers[i], cat("model.layers.", i, "."), views);
  }
  views.whole("model.norm.weight", weights.final_norm);
  if (!weights.head.is_same(weights.embedding)) views.whole("lm_head.weight", weights.head);
  return list;
}

std::vector<at::Tensor> linear_weights(const DecoderWeights& weights) {
  std::vector<at::Tensor> list;
  for (const auto& layer : weights.layers) {
    for (const auto& weight : {layer.qkv, layer.attention_output, layer.gate_up, layer.down, layer.router}) {
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
    if (ends_with(name, "norm.weight")) tensor.fill_(1);
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
  }
  return copy;
}
}  // namespace corisco::model
