// What a Hugging Face config.json says about a decoder. Semantics that this code lacks are refused.
#pragma once
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

struct DecoderConfig {
  std::string architecture = "LlamaForCausalLM";
  std::int64_t hidden_size = 0, intermediate_size = 0, num_layers = 0;
  std::int64_t num_heads = 0, num_kv_heads = 0, head_dim = 0;
  std::int64_t vocab_size = 0, max_position = 0;
  double norm_epsilon = 1e-5;
  bool attention_bias = false, mlp_bias = false, tie_embeddings = false;
  RopeConfig rope;
  std::string dtype = "float32";       // of the checkpoint's files
  std::vector<std::int32_t> end_ids;   // union of config.json, generation_config.json
};

// Reads config.json and generation_config.json. Unknown architectures, activations, rope types and
// quantised checkpoints are errors that name the field.
Result<DecoderConfig> read_config(const std::string& folder);
}  // namespace corisco::model
