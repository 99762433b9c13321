// Draws one token per row of logits, and takes the two log-probabilities that are recorded.
// A draw is a pure function of the row, the parameters and the position: no state, no arrival.
// Called on the device thread; its rows run on the OpenMP workers.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "corisco/engine/engine.h"
#include "corisco/types/call.h"

namespace corisco::engine {

struct DrawRequest {
  const SamplingParams* sampling = nullptr;
  std::uint64_t position = 0;            // of the token in its reply, from 0
};

struct DrawnToken {
  bool is_finite = false;                // false: the row had a non-finite logit, nothing is drawn
  TokenId id = 0;
  float sampled_logprob = 0;
  float drawn_logprob = 0;
  std::vector<TopLogprob> top;           // sampling.top_logprobs of them, most probable first
};

// logits: [requests.size(), vocabulary], row after row.
std::vector<DrawnToken> draw_tokens(const float* logits, std::int64_t vocabulary,
                                    std::span<const DrawRequest> requests);
}  // namespace corisco::engine
