// SGLang's POST /generate: text or token ids in, both out.
#pragma once
#include "gateway/wire_format.h"

namespace corisco::gateway {
// Each field is checked by name. Pure.
OrApiError<ChatRequest> parse_sglang_generate(const RequestBody& body, const ChatLimits& limits);

class SglangGenerate final : public WireFormat {
 public:
  OrApiError<ChatRequest> parse(const RequestBody& body, const ChatLimits& limits) const override {
    return parse_sglang_generate(body, limits);
  }
  std::unique_ptr<ChatReply> start_reply(ReplyOrigin origin, const ChatRequest& request) const override;
  ErrorShape error_shape() const override { return ErrorShape::openai; }
  ApiError context_overflow(std::size_t prompt_tokens, std::uint32_t context_tokens_max) const override;
};
}  // namespace corisco::gateway
