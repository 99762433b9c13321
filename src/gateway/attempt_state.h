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
#include "gateway/history_restore.h"
#include "gateway/response_store.h"
#include "gateway/retry_book.h"
#include "gateway/side_calls.h"

namespace corisco::gateway {
struct AttemptState {
  AttemptOpening opening;
  std::string key;
  bool is_closed = false;
  AttemptSummary summary;
  std::uint32_t next_turn = 0;
  SideCalls side_calls;
  CallRate rate;
  std::uint32_t num_final_turns = 0;     // after its last call: that told its harness to stop
  HeldTime held;
  bool is_suspended = false;
  CallTree calls;
  StoredReplies stored_replies;          // those that may come back with another content
  ResponseStore responses;
  RetryBook retries;
  std::unordered_map<std::uint64_t, std::uint64_t> prompts_seen;  // hash of the ids -> how often
  // Running calls, each with what interrupts it.
  std::map<std::uint64_t, std::function<void()>> running;
};
}  // namespace corisco::gateway
