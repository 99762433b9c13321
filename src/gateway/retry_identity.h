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

// The client says itself that it sends this request again (x-stainless-retry-count, of the OpenAI and
// Anthropic clients and of what is built on them). The others are known by their closed connection alone.
bool has_retry_marks(const Head& head);
}  // namespace corisco::gateway
