// Rotary position embedding: which angle each pair of a head's numbers turns by. Pure, no torch.
#pragma once
#include <cstdint>
#include <vector>

#include "corisco/model/config.h"

namespace corisco::model {
// inverse_frequencies[i] turns the pair (i, i + head_dim / 2); scale multiplies cosine and sine.
struct RopeFrequencies {
  std::vector<float> inverse_frequencies;  // [head_dim / 2]
  float scale = 1;
};
// default: theta^(-2i/d) (Su et al. 2021); linear: divided by factor; llama3: Llama 3.1's blend by
// wavelength; yarn: Peng et al. 2023, "by parts" with its attention factor. dynamic changes only past
// max_position_embeddings, where no sequence goes: up to there it is the default.
RopeFrequencies rope_frequencies(const RopeConfig& rope, std::int64_t head_dim);

// Cosines and sines of a pass's positions, computed once and used by every layer.
struct RopeAngles {
  std::vector<float> cosines, sines;  // [T, head_dim / 2]
};
RopeAngles rope_angles(const RopeFrequencies& frequencies, const std::vector<std::int64_t>& positions);
}  // namespace corisco::model
