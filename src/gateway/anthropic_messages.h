// Anthropic's POST /v1/messages, and what its count_tokens shares with it.
#pragma once
#include "gateway/wire_format.h"

namespace corisco::gateway {
// Each field is checked by name; the conversation becomes native messages and tools, so that the
// template sees the same as from a chat completion. Pure.
OrApiError<ChatRequest> parse_anthropic_messages(const RequestBody& body, const ChatLimits& limits);
// A body of count_tokens: the same, but it need not be one that can be replied to.
OrApiError<ChatRequest> parse_anthropic_count(const RequestBody& body, const ChatLimits& limits);

class AnthropicMessages final : public WireFormat {
 public:
  OrApiError<ChatRequest> parse(const RequestBody& body, const ChatLimits& limits) const override {
    return parse_anthropic_messages(body, limits);
  }
  std::unique_ptr<ChatReply> start_reply(ReplyOrigin origin, const ChatRequest& request) const override;
  ErrorShape error_shape() const override { return ErrorShape::anthropic; }
  ApiError context_overflow(std::size_t prompt_tokens, std::uint32_t context_tokens_max) const override;
};
}  // namespace corisco::gateway
