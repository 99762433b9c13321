// Runs a step on the decoder: forward, logits of the drawing rows, draws, and scores of prompts' rows. The only
// file of the engine that calls ATen. Owns the KV memory; device thread.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "corisco/base/result.h"
#include "corisco/model/decoder.h"
#include "engine/sampler.h"
#include "engine/step_input.h"

namespace corisco::engine {
struct StepOutput {
  std::vector<DrawnToken> drawn;           // one per request
  std::vector<PromptLogprob> scored;       // one per scored row
};

class Runner {
 public:
  // decoder outlives the runner. kv_rows: tokens that the cache holds; num_states: slots for states.
  Runner(model::Decoder& decoder, std::int64_t kv_rows, std::int64_t num_states = 0)
      : decoder_(decoder), kv_rows_(kv_rows), num_states_(num_states) {}

  // requests: one per logit row of the input. An error is a failure of the device, after which
  // nothing that the step computed is known to be in the cache.
  Result<StepOutput> run(StepInput input, std::span<const DrawRequest> requests);
  void release_memory() { cache_ = {}; }   // the next run takes it again, empty

 private:
  StepOutput forward(StepInput& input, std::span<const DrawRequest> requests);
  std::vector<PromptLogprob> score(const at::Tensor& hidden, std::span<const ScoredRow> rows);
  at::Tensor logits_of(const at::Tensor& hidden, std::span<const std::int64_t> rows);

  model::Decoder& decoder_;
  const std::int64_t kv_rows_, num_states_;
  model::KvStore cache_;
};
}  // namespace corisco::engine
