// A model whose tokens take 4,096 bytes of a cache a layer: keys and values of 8 heads of 64 floats. For tests that
// count what fits a budget.
#pragma once
#include "corisco/model/config.h"

namespace corisco::engine {
inline model::DecoderConfig four_layers() {
  model::DecoderConfig config;
  config.hidden_size = 64;
  config.intermediate_size = 96;
  config.num_layers = 4;
  config.num_heads = 16;
  config.num_kv_heads = 8;
  config.head_dim = 64;
  config.vocab_size = 300;
  config.max_position = 200;
  config.tie_embeddings = true;
  return config;
}
}  // namespace corisco::engine
