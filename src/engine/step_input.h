// What one scheduled step means for the decoder: tokens, positions, slots of the KV cache, the
// key spans of each row, and which rows need logits. Pure; device thread.
#pragma once
#include <cstdint>
#include <vector>

#include "corisco/model/decoder.h"
#include "engine/prompt_logprobs.h"
#include "engine/scheduler.h"

namespace corisco::engine {
struct StepInput {
  model::ForwardInput forward;             // cache is left for the caller
  std::vector<std::int64_t> logit_rows;    // of the forward's rows, one per row that draws
  std::vector<ScoredRow> scored_rows;      // in the order of the step's rows; num_top is left for the caller
  std::vector<StateCopy> resumes, saves;   // before and after the forward
};

// blocks [7 8 3], block_tokens 4, position 9 -> its keys are rows 28..35 and 12..13:
// spans {28, 8} {12, 2}; its own slot is 13.
StepInput make_step_input(const ScheduledStep& step, std::uint32_t block_tokens);
}  // namespace corisco::engine
