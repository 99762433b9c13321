// OpenAI's older POST /v1/completions as vLLM serves it: a prompt of text or token ids goes to the
// model as it is, and what the model says comes back as it is.
#pragma once
#include "gateway/wire_format.h"

namespace corisco::gateway {
// Each field is checked by name. One prompt a request. Pure.
OrApiError<ChatRequest> parse_openai_completion(const RequestBody& body, const ChatLimits& limits);

class OpenAiCompletions final : public WireFormat {
 public:
  OrApiError<ChatRequest> parse(const RequestBody& body, const ChatLimits& limits) const override {
    return parse_openai_completion(body, limits);
  }
  std::unique_ptr<ChatReply> start_reply(ReplyOrigin origin, const ChatRequest& request) const override;
  ErrorShape error_shape() const override { return ErrorShape::openai; }
  ApiError context_overflow(std::size_t prompt_tokens, std::uint32_t context_tokens_max) const override;
};
}  // namespace corisco::gateway
