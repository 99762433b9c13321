// Truncated sampling: which tokens of a row stay under top-k, top-p and min-p.
// Pure, without sorting the whole vocabulary; any thread.
#pragma once
#include <cstdint>
#include <vector>

#include "corisco/types/call.h"

namespace corisco::engine {
bool truncates(const SamplingParams& params);

// Each truncation keeps a beginning of one order: logit descending, then id ascending. So
// the smallest beginning is kept, in this order of definition:
//   top-k: the first k
//   top-p: while the mass before a token, as a part of what top-k kept, is less than p
//   min-p: while weight >= min_p * the largest weight
// Never empty. weights: exp_weights() of the row, total its sum. Returned in id order.
std::vector<TokenId> keep_candidates(const SamplingParams& params, const float* logits,
                                     const float* weights, std::int64_t vocabulary, double total);

// The n first of the same order (all when the vocabulary is smaller).
std::vector<TokenId> top_ids(const float* logits, std::int64_t vocabulary, std::uint32_t n);
}  // namespace corisco::engine
