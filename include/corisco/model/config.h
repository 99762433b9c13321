// What a Hugging Face config.json says about a decoder. Semantics that this code lacks are refused.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "corisco/base/result.h"

namespace corisco::model {
struct RopeConfig {
  std::string type = "default";        // default, linear, dynamic, llama3, yarn
  double theta = 10000;
  double factor = 1;
  double low_freq_factor = 1, high_freq_factor = 4;
  double beta_fast = 32, beta_slow = 1;
  double attention_factor = 0;         // 0: by the type's formula
  std::int64_t original_max_position = 0;
};

// An expert of a layer; kRouterChooses stands where none was chosen yet.
using ExpertId = std::uint16_t;
constexpr ExpertId kRouterChooses = 0xffff;

struct DecoderConfig {
  std::string architecture = "LlamaForCausalLM";
  std::int64_t hidden_size = 0, intermediate_size = 0, num_layers = 0;
  std::int64_t num_heads = 0, num_kv_heads = 0, head_dim = 0;
  std::int64_t vocab_size = 0, max_position = 0;
  double norm_epsilon = 1e-5;
  bool qkv_bias = false, attention_output_bias = false, mlp_bias = false, tie_embeddings = false;
  bool norms_heads = false;            // each query and key head has its RMS norm, before the rotation
  // Layers of which a token sees only the last sliding_window tokens, itself included.
  std::int64_t sliding_window = 0;
  std::vector<bool> sliding_layers;    // [L]; empty: none
  // Layers whose MLP is the weighted sum of the experts_per_token experts that a router chooses.
  std::int64_t num_experts = 0, experts_per_token = 0, expert_intermediate_size = 0;
  bool normalises_expert_weights = false;  // the chosen ones' weights add up to 1
  std::vector<bool> expert_layers;     // [L]; empty: none
  RopeConfig rope;
  std::string dtype = "float32";       // of the checkpoint's files
  std::vector<std::int32_t> end_ids;   // union of config.json, generation_config.json

  bool is_sliding(std::size_t layer) const { return layer < sliding_layers.size() && sliding_layers[layer]; }
  bool has_experts(std::size_t layer) const { return layer < expert_layers.size() && expert_layers[layer]; }
  // Experts that one token goes to, over all layers.
  std::int64_t experts_per_row() const {
    return experts_per_token * std::count(expert_layers.begin(), expert_layers.end(), true);
  }
};

// Reads config.json and generation_config.json. Unknown architectures, activations, rope types, inputs
// other than text and quantised checkpoints are errors that name the field.
Result<DecoderConfig> read_config(const std::string& folder);
}  // namespace corisco::model
