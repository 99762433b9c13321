// What a Hugging Face config.json says about a decoder. Semantics that this code lacks are refused.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "corisco/base/result.h"
#include "corisco/model/delta_shape.h"

namespace corisco::model {
struct RopeConfig {
  std::string type = "default";        // default, linear, dynamic, llama3, yarn
  double theta = 10000;
  double factor = 1;
  double low_freq_factor = 1, high_freq_factor = 4;
  double beta_fast = 32, beta_slow = 1;
  double attention_factor = 0;         // 0: by the type's formula
  double mscale = 0, mscale_all_dim = 0;   // of that formula, if both are there
  bool truncates = true;               // the ramp's ends to whole dimensions
  std::int64_t original_max_position = 0;
  double partial_factor = 1;           // of each head's front; the rest of it is not turned
  friend bool operator==(const RopeConfig&, const RopeConfig&) = default;
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
  bool norms_from_one = false;         // weights of norms are stored less 1, those inside DeltaNet layers excepted
  bool gates_attention = false;        // a head's output times the sigmoid of a gate that the queries' projection has
  // Layers of which a token sees only the last sliding_window tokens, itself included.
  std::int64_t sliding_window = 0;
  std::vector<bool> sliding_layers;    // [L]; empty: none
  // Layers whose MLP is the weighted sum of the experts_per_token experts that a router chooses.
  std::int64_t num_experts = 0, experts_per_token = 0, expert_intermediate_size = 0;
  bool normalises_expert_weights = false;  // the chosen ones' weights add up to 1
  std::vector<bool> expert_layers;     // [L]; empty: none
  std::int64_t shared_expert_intermediate_size = 0;  // of one that every token goes to, gated; 0: none
  // Layers with a gated DeltaNet in the place of attention.
  DeltaShape delta;
  std::vector<bool> linear_layers;     // [L]; empty: none
  bool delta_rows_by_head = false;     // a file's projections go key head by key head (Qwen3-Next)
  // How the files name tensors: by what they hold, not by config.json.
  std::string tensor_prefix = "model.";
  bool stacks_experts = false;         // all of a layer's experts in one tensor
  RopeConfig rope;
  std::string dtype = "float32";       // of the checkpoint's files
  std::vector<std::int32_t> end_ids;   // union of config.json, generation_config.json, the tokenizer's
  std::vector<std::string> unused_sampling;   // fields of generation_config.json that others draw by; nothing here does

  bool is_sliding(std::size_t layer) const { return layer < sliding_layers.size() && sliding_layers[layer]; }
  bool is_linear(std::size_t layer) const { return layer < linear_layers.size() && linear_layers[layer]; }
  bool has_experts(std::size_t layer) const { return layer < expert_layers.size() && expert_layers[layer]; }
  std::int64_t num_linear_layers() const { return std::count(linear_layers.begin(), linear_layers.end(), true); }
  std::int64_t num_attention_layers() const { return num_layers - num_linear_layers(); }
  // Numbers at the front of each head that the rotation turns.
  std::int64_t turned_dim() const {
    return static_cast<std::int64_t>(static_cast<double>(head_dim) * rope.partial_factor);
  }
  // Experts that one token goes to, over all layers.
  std::int64_t experts_per_row() const {
    return experts_per_token * std::count(expert_layers.begin(), expert_layers.end(), true);
  }
};

// Reads config.json and generation_config.json. Unknown architectures, activations, rope types, inputs
// other than text and quantised checkpoints are errors that name the field.
Result<DecoderConfig> read_config(const std::string& folder);
}  // namespace corisco::model
