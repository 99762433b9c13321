// The log-probabilities of a prompt's own tokens, from the logits of the rows before them: what echo and scoring
// clients ask for. Never recorded, never trained. Pure; its rows run on the OpenMP workers.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "corisco/engine/engine.h"
#include "corisco/types/call.h"

namespace corisco::engine {
struct ScoredRow {
  std::int64_t row = 0;                  // of the pass
  TokenId next = 0;                      // that the prompt goes on with
  std::uint32_t num_top = 0;             // alternatives to report
};

// logits: [rows.size(), vocabulary], row after row. A row with a logit that is not finite has a log-probability
// that is not a number.
std::vector<PromptLogprob> score_rows(const float* logits, std::int64_t vocabulary, std::span<const ScoredRow> rows);
}  // namespace corisco::engine
