// OpenAI's POST /v1/responses.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gateway/json_fields.h"
#include "gateway/response_store.h"
#include "gateway/responses_tools.h"
#include "gateway/wire_format.h"

namespace corisco::gateway {
// What a request says that no other format has.
struct ResponsesTurn {
  std::string instructions;              // empty: none
  std::string previous_response_id;      // empty: none
  bool is_stored = true;
  bool seals_reasoning = false;          // the client keeps it unread (reasoning.encrypted_content)
  ResponsesTools tools;
  Json repeated;                         // members of the request that the response shows again
  std::vector<ItemText> input;           // its own items; empty unless they are stored or needed to recall
  std::vector<std::pair<std::size_t, std::string>> references;   // index into input, id of the item meant

  // messages_json is not there yet: recall() makes it.
  bool needs_earlier() const { return !previous_response_id.empty() || !references.empty(); }
};

// Each field is checked by name; the items become native messages and the tools functions, so that
// the template sees the same as from a chat completion. Pure.
OrApiError<ChatRequest> parse_openai_responses(const RequestBody& body, const ChatLimits& limits);

class OpenAiResponses final : public WireFormat {
 public:
  OrApiError<ChatRequest> parse(const RequestBody& body, const ChatLimits& limits) const override {
    return parse_openai_responses(body, limits);
  }
  std::unique_ptr<ChatReply> start_reply(ReplyOrigin origin, const ChatRequest& request) const override;
  ErrorShape error_shape() const override { return ErrorShape::openai; }
  ApiError context_overflow(std::size_t prompt_tokens, std::uint32_t context_tokens_max) const override;
};
}  // namespace corisco::gateway
