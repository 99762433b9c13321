// The log-probability that is recorded of a sampled token. Pure and without torch; any thread.
#pragma once
#include <cstdint>

namespace corisco::model {
// Natural log probability of target under softmax(logits / temperature) of one row of V logits,
// in the one summation order that engine and trainer share.
float token_logprob(const float* logits, std::int64_t vocabulary, std::int64_t target, float temperature);
}  // namespace corisco::model
