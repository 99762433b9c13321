// Draws one token per row of logits, and takes the two log-probabilities that are recorded.
// A draw is a pure function of the row, the request and the position: no state, no arrival.
// The order: logit changes (logit_changes.h), temperature, top-k, top-p, min-p, one uniform number.
// Called on the device thread; its rows run on the OpenMP workers.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "corisco/engine/engine.h"
#include "corisco/types/call.h"
#include "engine/logit_changes.h"

namespace corisco::engine {
struct DrawnToken {
  bool is_finite = false;                // false: the row had a non-finite logit, nothing is drawn
  bool has_choice = false;               // false: penalties, biases and masks leave no token, nothing is drawn
  TokenId id = 0;
  float sampled_logprob = 0;             // of the logits as they are, at the temperature, over all tokens
  float drawn_logprob = 0;               // of what is drawn from: changed logits, what truncation keeps
  std::vector<TopLogprob> top;           // sampling.top_logprobs of them, most probable first; as sampled_logprob
};

// logits: [requests.size(), vocabulary], row after row.
std::vector<DrawnToken> draw_tokens(const float* logits, std::int64_t vocabulary,
                                    std::span<const DrawRequest> requests);
}  // namespace corisco::engine
