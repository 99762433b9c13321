#include "model/hf/hybrid.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "corisco/base/strings.h"
#include "model/hf/expert_config.h"
#include "model/hf/json_field.h"
#include "model/hf/rope_config.h"

namespace corisco::model::hf {
namespace {
using Json = nlohmann::json;
constexpr std::int64_t kKernelMax = 16, kDimMax = 512;

// layer_types, or every full_attention_interval-th layer with attention.
std::string read_linear_layers(const Json& json, DecoderConfig& config) {
  const auto interval = field<std::int64_t>(json, "full_attention_interval", 4);
  if (interval < 1) return cat("full_attention_interval is ", interval, "; it must be at least 1");
  for (std::int64_t i = 0; i < config.num_layers; ++i) config.linear_layers.push_back((i + 1) % interval != 0);
  const auto types = field<std::vector<std::string>>(json, "layer_types", {});
  if (!types.empty() && types.size() != config.linear_layers.size()) {
    return cat("layer_types has ", types.size(), " entries for ", config.num_layers, " layers");
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    config.linear_layers[i] = types[i] == "linear_attention";
    if (!config.linear_layers[i] && types[i] != "full_attention") {
      return cat("layer_types: \"", types[i], "\" is not supported; known: linear_attention, full_attention");
    }
  }
  if (config.num_attention_layers() == 0) return "layer_types without any full_attention is not supported";
  return "";
}

std::string read_delta(const Json& json, DecoderConfig& config) {
  DeltaShape& shape = config.delta;
  shape.num_key_heads = field<std::int64_t>(json, "linear_num_key_heads", 16);
  shape.num_value_heads = field<std::int64_t>(json, "linear_num_value_heads", 32);
  shape.key_dim = field<std::int64_t>(json, "linear_key_head_dim", 128);
  shape.value_dim = field<std::int64_t>(json, "linear_value_head_dim", 128);
  shape.kernel = field<std::int64_t>(json, "linear_conv_kernel_dim", 4);
  if (shape.num_key_heads < 1 || shape.num_value_heads < 1 || shape.num_value_heads % shape.num_key_heads != 0) {
    return cat("linear_num_value_heads ", shape.num_value_heads, " is not a multiple of linear_num_key_heads ",
               shape.num_key_heads);
  }
  const std::pair<const char*, std::int64_t> dims[] = {{"linear_key_head_dim", shape.key_dim},
                                                       {"linear_value_head_dim", shape.value_dim}};
  for (const auto& [name, dim] : dims) {
    if (dim < 1 || dim > kDimMax) return cat(name, " is ", dim, "; it must be from 1 to ", kDimMax);
  }
  if (shape.kernel < 2 || shape.kernel > kKernelMax) {
    return cat("linear_conv_kernel_dim is ", shape.kernel, "; it must be from 2 to ", kKernelMax);
  }
  return "";
}

// Of attention, and of the norms inside DeltaNet layers.
std::string gate_problem(const Json& json) {
  if (!field(json, "attn_output_gate", true)) return "attn_output_gate: false is not supported";
  const auto type = field<std::string>(json, "output_gate_type", "swish");
  if (type == "swish" || type == "silu") return "";
  return cat("output_gate_type \"", type, "\" is not supported; known: swish");
}

std::string read_hybrid(const Json& json, DecoderConfig& config) {
  if (std::string problem = gate_problem(json); !problem.empty()) return problem;
  if (!json.contains("head_dim")) config.head_dim = 256;
  config.norms_heads = config.norms_from_one = config.gates_attention = true;
  config.qkv_bias = config.attention_output_bias = field(json, "attention_bias", false);
  const double outer = field(json, "partial_rotary_factor", 0.25);
  config.rope.partial_factor = field(rope_fields(json), "partial_rotary_factor", outer);
  if (std::string problem = read_linear_layers(json, config); !problem.empty()) return problem;
  // A model of attention alone has no state to size.
  return config.num_linear_layers() > 0 ? read_delta(json, config) : "";
}

std::string read_hybrid_experts(const Json& json, const ExpertDefaults& defaults, DecoderConfig& config) {
  if (std::string problem = read_experts(json, defaults, config); !problem.empty()) return problem;
  config.shared_expert_intermediate_size = field<std::int64_t>(json, "shared_expert_intermediate_size", 512);
  if (config.shared_expert_intermediate_size < 1) {
    return cat("shared_expert_intermediate_size is ", config.shared_expert_intermediate_size,
               "; it must be at least 1");
  }
  return read_hybrid(json, config);
}
}  // namespace

std::string read_qwen3_next(const Json& json, DecoderConfig& config) {
  config.delta_rows_by_head = true;
  return read_hybrid_experts(
      json, {.num_experts = 512, .per_token = 10, .intermediate_size = 512, .normalises = true}, config);
}

std::string read_qwen3_5(const Json& json, DecoderConfig& config) { return read_hybrid(json, config); }

// Every layer has experts, whose weights always add up to 1. Published files have some of the fields by which other
// architectures say otherwise: with the values that mean this.
std::string read_qwen3_5_moe(const Json& json, DecoderConfig& config) {
  const std::string problem = read_hybrid_experts(
      json, {.num_experts = 256, .per_token = 8, .intermediate_size = 512, .normalises = true}, config);
  if (!problem.empty()) return problem;
  if (!config.normalises_expert_weights) return cat("norm_topk_prob: false is not supported for ", config.architecture);
  if (std::ranges::find(config.expert_layers, false) != config.expert_layers.end()) {
    return cat("decoder_sparse_step and mlp_only_layers: layers without experts are not supported for ",
               config.architecture);
  }
  return "";
}
}  // namespace corisco::model::hf
