// What the gateway knows about one attempt while its key is valid.
// Owned by Attempts, shared by the running calls, which may outlive the attempt's closing.
// Io thread only.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>

#include "corisco/gateway/attempts.h"
#include "gateway/continuation.h"
#include "gateway/held_time.h"

namespace corisco::gateway {
struct AttemptState {
  AttemptOpening opening;
  std::string key;
  bool is_closed = false;
  AttemptSummary summary;
  std::uint32_t next_turn = 0;
  HeldTime held;
  bool is_suspended = false;
  CallTree calls;
  std::unordered_map<std::uint64_t, std::uint64_t> prompts_seen;  // hash of the ids -> how often
  // Running calls, each with what interrupts it.
  std::map<std::uint64_t, std::function<void()>> running;
};
}  // namespace corisco::gateway
