// Whose sampling values apply, and the key of the draws: in a rollout the run's, outside the
// client's. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "corisco/config/config.h"
#include "corisco/gateway/attempts.h"
#include "gateway/chat_request.h"

namespace corisco::gateway {
struct SamplingDecision {
  SamplingParams params;                  // without key and max_tokens
  std::vector<const char*> overridden;    // names of the client's values that were not obeyed
  bool uses_client_seed = false;
};
// opening: null outside any rollout.
SamplingDecision decide_sampling(const config::Config& config, const AttemptOpening* opening,
                                 const ChatRequest& request);

// One draw sequence for each choice of each call, the same on every run of the same history.
//   nth_identical: how often the attempt sent these prompt ids before
std::uint64_t rollout_key(std::uint64_t run_seed, const AttemptOpening& opening,
                          std::span<const TokenId> prompt_ids, std::uint64_t nth_identical,
                          std::uint32_t choice);
// From the client's seed; the same prompt, seed and choice give the same reply.
std::uint64_t client_key(std::int64_t seed, std::span<const TokenId> prompt_ids, std::uint32_t choice);
// Of a frozen name without the client's seed: other draws than the policy's from the same prompt.
std::uint64_t frozen_key(std::uint64_t rollout_key);
// Outside any rollout and without a seed: nth counts such calls in this process.
std::uint64_t unseeded_key(std::uint64_t run_seed, std::uint64_t nth, std::uint32_t choice);

// Tokens that a reply may have: what the client asks for, at most the run's cap (in rollouts) and
// what the context leaves. None if that is nothing: the prompt does not fit.
std::optional<std::uint32_t> reply_tokens_max(const config::Sampling& sampling, bool is_in_rollout,
                                              const ChatRequest& request, std::size_t prompt_tokens,
                                              std::uint32_t context_tokens_max);
}  // namespace corisco::gateway
