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
#include "gateway/model_use.h"
#include "gateway/response_store.h"
#include "gateway/retry_book.h"
#include "gateway/side_calls.h"

namespace corisco::gateway {
// What requests of one role go on from. A frozen one never goes on from a reply to the policy, nor the reverse:
// what the one was sampled behind says nothing of the other's rows.
struct Conversations {
  CallTree calls;
  StoredReplies stored_replies;          // those that may come back with another content
  std::unordered_map<std::uint64_t, std::uint64_t> prompts_seen;  // hash of the ids -> how often
};

struct AttemptState {
  Conversations& conversations_of(const ChatRequest& request) {
    return request.role == ModelRole::frozen ? frozen : policy;
  }
  const Conversations& conversations_of(const ChatRequest& request) const {
    return request.role == ModelRole::frozen ? frozen : policy;
  }

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
  Conversations policy, frozen;
  ModelUse models;
  ResponseStore responses;
  RetryBook retries;
  // Running calls, each with what interrupts it.
  std::map<std::uint64_t, std::function<void()>> running;
};
}  // namespace corisco::gateway
