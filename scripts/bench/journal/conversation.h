// Calls like an agent's: each goes on from the one before with about a thousand tokens more.
#pragma once
#include <cstdint>

#include "corisco/types/call.h"

namespace corisco::bench {
inline constexpr std::uint32_t kNewPromptTokens = 800, kReplyTokens = 200;

class Conversation {
 public:
  explicit Conversation(std::uint64_t rollout) : rollout_(rollout) {}
  AttemptKey attempt() const { return {RolloutId{rollout_}, 1}; }
  // Turn 0, 1, ...: shares the beginning of the one before, as the gateway's calls do.
  Call next();

 private:
  std::uint64_t rollout_;
  Call last_;
  std::uint32_t num_calls_ = 0;
};
}  // namespace corisco::bench
