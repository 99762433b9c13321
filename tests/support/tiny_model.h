// A decoder small enough for tests that only need some decoder, and passes for it.
#pragma once
#include <memory>
#include <vector>

#include "corisco/model/decoder.h"

namespace corisco::testing {
inline model::DecoderConfig tiny_config() {
  model::DecoderConfig config;
  config.hidden_size = 64;
  config.intermediate_size = 96;
  config.num_layers = 2;
  config.num_heads = 4;
  config.num_kv_heads = 2;
  config.head_dim = 16;
  config.vocab_size = 256;
  config.max_position = 512;
  config.tie_embeddings = true;
  config.end_ids = {2};
  return config;
}

inline std::unique_ptr<model::Decoder> tiny_decoder(bool deterministic = false, std::uint64_t seed = 1) {
  return model::Decoder::random(tiny_config(), "float32", deterministic, seed);
}

// Appends a causal sequence to a training pass: its rows attend to themselves and what precedes them.
inline void append_sequence(model::ForwardInput& input, const std::vector<std::int64_t>& ids) {
  const auto first = static_cast<std::int32_t>(input.token_ids.size());
  for (std::size_t t = 0; t < ids.size(); ++t) {
    input.token_ids.push_back(ids[t]);
    input.positions.push_back(static_cast<std::int64_t>(t));
    input.attention.spans.push_back({first, static_cast<std::int32_t>(t) + 1});
    input.attention.end_row();
  }
}

inline model::ForwardInput one_sequence(const std::vector<std::int64_t>& ids) {
  model::ForwardInput input;
  append_sequence(input, ids);
  return input;
}
}  // namespace corisco::testing
