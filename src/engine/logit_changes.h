// What penalties, biases and masks make of one row of logits, before the temperature.
// Pure and without torch; any thread. Touches the tokens that something is asked of, and no others.
#pragma once
#include <cstdint>
#include <span>
#include <unordered_map>

#include "corisco/types/call.h"

namespace corisco::engine {
// Which tokens a sequence has, counted as they come: the penalties need no pass over its history.
class SeenTokens {
 public:
  void add_prompt(std::span<const TokenId> ids) {
    for (const TokenId id : ids) times_in_reply_.try_emplace(id, 0);
  }
  void add_drawn(TokenId id) { ++times_in_reply_[id]; }
  // Of every token of the prompt or the reply.
  const std::unordered_map<TokenId, std::uint32_t>& times_in_reply() const { return times_in_reply_; }

 private:
  std::unordered_map<TokenId, std::uint32_t> times_in_reply_;
};

struct DrawRequest {
  const SamplingParams* sampling = nullptr;
  std::uint64_t position = 0;                  // of the token in its reply, from 0
  const SeenTokens* seen = nullptr;            // null: nothing yet
  std::span<const TokenId> end_ids{};          // the model's own end tokens
  std::span<const std::uint32_t> allowed{};    // as TokenFilter::allowed; empty: every token
};

bool has_penalties(const SamplingParams& params);
// Whether change_logits would do anything: if not, no row need be copied.
bool changes_logits(const DrawRequest& request);
// In this order: the repetition penalty, then frequency and presence; the biases; then the logits of what
// may not be drawn become -infinity: end and stop tokens before min_tokens, and what is not allowed.
void change_logits(const DrawRequest& request, std::span<float> logits);
}  // namespace corisco::engine
