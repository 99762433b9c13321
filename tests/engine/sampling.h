// SamplingParams by the names of what differs: {.top_p = 0.9F, .key = 7}.
#pragma once
#include <cstdint>

#include "corisco/types/call.h"

namespace corisco::engine {
struct Sampling {
  float temperature = 1.0F;
  float top_p = 1.0F;
  std::uint32_t top_k = 0;
  float min_p = 0.0F;
  std::uint32_t top_logprobs = 0;
  std::uint64_t key = 0;

  operator SamplingParams() const {  // NOLINT: implicit
    SamplingParams params;
    params.temperature = temperature;
    params.top_p = top_p;
    params.top_k = top_k;
    params.min_p = min_p;
    params.top_logprobs = top_logprobs;
    params.key = key;
    return params;
  }
};
}  // namespace corisco::engine
