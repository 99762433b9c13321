// Which requests are the same one, sent again. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "gateway/chat_request.h"
#include "gateway/http_head.h"

namespace corisco::gateway {
class WireFormat;

// What its reply follows from. Whether it is streamed is no part of it: clients whose stream was cut may
// ask for the reply in one piece.
struct RequestIdentity {
  const WireFormat* format = nullptr;
  std::string question;                  // digest of everything but the token limit
  std::optional<std::uint32_t> max_tokens;
  friend bool operator==(const RequestIdentity&, const RequestIdentity&) = default;

  // The same question, with room for a longer reply than the other.
  bool allows_more_than(const RequestIdentity& other) const;
};
// Linear in the request's size.
RequestIdentity identity_of(const ChatRequest& request, const WireFormat& format);

// What the OpenAI and Anthropic clients, and what is built on them, say of a request's retries. Those of other
// clients are known by their closed connection alone.
struct RetryMarks {
  bool is_retry = false;                 // x-stainless-retry-count: this is not the first try
  std::optional<double> patience_seconds;   // x-stainless-read-timeout, or -timeout: how long it waits for a reply
};
RetryMarks retry_marks_of(const Head& head);
}  // namespace corisco::gateway
