// The last step of a log-probability, the same in the engine's rows and in the trainer's chunks.
#pragma once

namespace corisco::model {
inline float logprob_of(float logit, float inverse_temperature, float log_sum) {
  return logit * inverse_temperature - log_sum;
}
}  // namespace corisco::model
