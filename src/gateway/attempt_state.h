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
#include "gateway/call_rate.h"
#include "gateway/continuation.h"
#include "gateway/held_time.h"
#include "gateway/response_store.h"

namespace corisco::gateway {
struct AttemptState {
  AttemptOpening opening;
  std::string key;
  bool is_closed = false;
  AttemptSummary summary;
  std::uint32_t next_turn = 0;
  bool has_tools = false;                // a call of it offered tools
  bool has_answered_tools = false;       // such a call has its reply
  CallRate rate;
  std::uint32_t num_final_turns = 0;     // after its last call: that told its harness to stop
  HeldTime held;
  bool is_suspended = false;
  CallTree calls;
  ResponseStore responses;
  std::unordered_map<std::uint64_t, std::uint64_t> prompts_seen;  // hash of the ids -> how often
  // Running calls, each with what interrupts it.
  std::map<std::uint64_t, std::function<void()>> running;
};
}  // namespace corisco::gateway
