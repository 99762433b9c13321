// How one API puts a chat call on the wire: its body, its reply, its errors. The call itself knows
// no format but through this interface. Stateless; any thread.
#pragma once
#include <memory>
#include <string>

#include "gateway/api_error.h"
#include "gateway/chat_reply.h"
#include "gateway/chat_request.h"
#include "gateway/request_body.h"
#include "gateway/routes.h"

namespace corisco::gateway {
// The code of an error for a prompt that leaves no room for a reply, whatever its words are.
inline constexpr const char* kContextOverflow = "context_length_exceeded";

class WireFormat {
 public:
  virtual ~WireFormat() = default;
  // Pure; large bodies are read on the text thread.
  virtual OrApiError<ChatRequest> parse(const RequestBody& body, const ChatLimits& limits) const = 0;
  virtual std::unique_ptr<ChatReply> start_reply(ReplyOrigin origin, const ChatRequest& request) const = 0;
  virtual ErrorShape error_shape() const = 0;
  // In the words by which the format's agents know to compact their history.
  virtual ApiError context_overflow(std::size_t prompt_tokens, std::uint32_t context_tokens_max) const = 0;
};

// Null for a route that is not a chat call.
const WireFormat* wire_format_of(RouteKind kind);
// Of every answer at a route, also of those that are no chat call.
ErrorShape error_shape_of(RouteKind kind);
}  // namespace corisco::gateway
