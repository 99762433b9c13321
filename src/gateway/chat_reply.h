// The texts that a chat completion sends: chunks of a stream, or one JSON body. Pure.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "gateway/chat_request.h"
#include "gateway/choice_stream.h"

namespace corisco::gateway {
struct Usage {
  std::size_t prompt_tokens = 0;
  std::size_t completion_tokens = 0;     // of all choices, end tokens included
};

class ChatReply {
 public:
  ChatReply(std::string id, std::string model, double created_unix_seconds, const ChatRequest& request,
            std::shared_ptr<const text::Tokenizer> tokenizer);

  // A stream: one opening for each choice, pieces, an ending for each choice, perhaps the usage, done.
  std::string opening(std::uint32_t choice, const std::vector<TokenId>& prompt_ids) const;
  std::string piece(std::uint32_t choice, const ChoicePiece& piece) const;   // empty if nothing shows
  std::string ending(std::uint32_t choice, FinishReason finish) const;
  std::string usage(const Usage& usage) const;
  static std::string done() { return "data: [DONE]\n\n"; }
  std::string heartbeat() const;         // changes nothing for a client
  static std::string failure(const ApiError& error);

  // Not a stream.
  std::string whole(const std::vector<ChoiceStream>& choices, const std::vector<TokenId>& prompt_ids) const;

 private:
  std::string id_;
  std::string model_;
  std::int64_t created_;
  bool returns_token_ids_, returns_logprobs_;
  std::uint32_t top_logprobs_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
};
}  // namespace corisco::gateway
