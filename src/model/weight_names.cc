// Hugging Face's names as views of the fused tensors.
#include "corisco/base/strings.h"
#include "model/weights.h"

namespace corisco::model {
namespace {
// Puts tensors into the list: first the weights of a module, then its bias.
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
  struct Part {
    const char* module;
    std::int64_t rows;
  };
  // All rows of a fused weight, one part after the other.
  void parts(const std::string& prefix, const at::Tensor& weight, const at::Tensor& bias,
             const std::vector<Part>& list) {
    std::int64_t first = 0;
    for (const auto& [module, rows] : list) {
      part(prefix + module, weight, bias, first, rows);
      first += rows;
    }
  }

 private:
  std::vector<NamedTensor>& list_;
};

void append_attention(const DecoderConfig& config, const LayerWeights& layer, const std::string& prefix,
                      Views& views) {
  const std::int64_t query = config.num_heads * config.head_dim * (config.gates_attention ? 2 : 1),
                     kv = config.num_kv_heads * config.head_dim;
  views.parts(prefix, layer.qkv, layer.qkv_bias, {{"q_proj", query}, {"k_proj", kv}, {"v_proj", kv}});
  views.part(prefix + "o_proj", layer.attention_output, layer.attention_output_bias, 0, config.hidden_size);
  if (!layer.query_norm.defined()) return;
  views.whole(prefix + "q_norm.weight", layer.query_norm);
  views.whole(prefix + "k_norm.weight", layer.key_norm);
}

void append_delta(const DecoderConfig& config, const LayerWeights& layer, const std::string& prefix, Views& views) {
  const DeltaShape& shape = config.delta;
  views.whole(prefix + "dt_bias", layer.delta.dt_bias);
  views.whole(prefix + "A_log", layer.delta.a_log);
  views.whole(prefix + "conv1d.weight", layer.delta.conv);
  if (config.delta_rows_by_head) {
    views.parts(prefix, layer.delta_input, {},
                {{"in_proj_qkvz", shape.mixed_width() + shape.value_width()},
                 {"in_proj_ba", 2 * shape.num_value_heads}});
  } else {
    views.parts(prefix, layer.delta_input, {},
                {{"in_proj_qkv", shape.mixed_width()},
                 {"in_proj_z", shape.value_width()},
                 {"in_proj_b", shape.num_value_heads},
                 {"in_proj_a", shape.num_value_heads}});
  }
  views.whole(prefix + "norm.weight", layer.delta.norm);
  views.part(prefix + "out_proj", layer.delta_output, {}, 0, config.hidden_size);
}

void append_mlp(const std::string& prefix, const ExpertWeights& weights, const LayerWeights* biased, Views& views) {
  const std::int64_t width = weights.down.size(1);
  const at::Tensor none;
  views.parts(prefix, weights.gate_up, biased ? biased->gate_up_bias : none,
              {{"gate_proj", width}, {"up_proj", width}});
  views.part(prefix + "down_proj", weights.down, biased ? biased->down_bias : none, 0, weights.down.size(0));
}

void append_experts(const LayerWeights& layer, const std::string& prefix, Views& views) {
  views.whole(prefix + "gate.weight", layer.router);
  if (layer.stacked_experts.gate_up.defined()) {
    views.whole(prefix + "experts.gate_up_proj", layer.stacked_experts.gate_up);
    views.whole(prefix + "experts.down_proj", layer.stacked_experts.down);
  } else {
    for (std::size_t i = 0; i < layer.experts.size(); ++i) {
      append_mlp(cat(prefix, "experts.", i, "."), layer.experts[i], nullptr, views);
    }
  }
  if (!layer.shared_gate.defined()) return;
  append_mlp(prefix + "shared_expert.", layer.shared_expert, nullptr, views);
  views.whole(prefix + "shared_expert_gate.weight", layer.shared_gate);
}

void append_layer(const DecoderConfig& config, const LayerWeights& layer, const std::string& prefix, Views& views) {
  if (layer.delta_input.defined()) append_delta(config, layer, prefix + "linear_attn.", views);
  else append_attention(config, layer, prefix + "self_attn.", views);
  if (layer.router.defined()) append_experts(layer, prefix + "mlp.", views);
  else append_mlp(prefix + "mlp.", {layer.gate_up, layer.down}, &layer, views);
  views.whole(prefix + "input_layernorm.weight", layer.attention_norm);
  views.whole(prefix + "post_attention_layernorm.weight", layer.mlp_norm);
}
}  // namespace

std::vector<NamedTensor> hugging_face_views(const DecoderConfig& config, const DecoderWeights& weights) {
  std::vector<NamedTensor> list;
  Views views(list);
  views.whole(config.tensor_prefix + "embed_tokens.weight", weights.embedding);
  for (std::size_t i = 0; i < weights.layers.size(); ++i) {
    append_layer(config, weights.layers[i], cat(config.tensor_prefix, "layers.", i, "."), views);
  }
  views.whole(config.tensor_prefix + "norm.weight", weights.final_norm);
  if (!weights.head.is_same(weights.embedding)) views.whole("lm_head.weight", weights.head);
  return list;
}
}  // namespace corisco::model
