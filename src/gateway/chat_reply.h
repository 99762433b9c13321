// The texts of one chat call's reply, in the wire format that it came in: the parts of a stream, or
// one JSON body. Made by a WireFormat; owned by the call; io thread, or the text thread while the call
// waits for it.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "gateway/api_error.h"
#include "gateway/choice_stream.h"

namespace corisco::gateway {
class ResponseStore;

struct Usage {
  std::size_t prompt_tokens = 0;
  std::size_t completion_tokens = 0;     // of all choices, end tokens included
  std::size_t reasoning_tokens = 0;      // of those, as ChoiceStream counts them
  std::size_t cached_tokens = 0;         // of the prompt: what the first choice found computed

  // The choices in their order.
  void add(const ChoiceStream& choice) {
    if (completion_tokens == 0) cached_tokens = choice.num_cached_prompt_tokens();
    completion_tokens += choice.tokens().size();
    reasoning_tokens += choice.num_reasoning_tokens();
  }
};

// What a reply says of itself.
struct ReplyOrigin {
  std::string request_id;
  std::string model;
  double created_unix_seconds = 0;
  std::shared_ptr<const text::Tokenizer> tokenizer;
};

class ChatReply {
 public:
  virtual ~ChatReply() = default;

  // Before the openings of a stream whose request echoes_logprobs(): those of the prompt's tokens but its first.
  virtual void score_prompt(const std::vector<PromptLogprob>&) {}
  // A stream: one opening for each choice, pieces, an ending for each choice, done.
  virtual std::string opening(std::uint32_t choice, const std::vector<TokenId>& prompt_ids) = 0;
  virtual std::string piece(std::uint32_t choice, const ChoicePiece& piece) = 0;   // empty if nothing shows
  virtual std::string ending(std::uint32_t choice, const ChoiceStream& ended) = 0;
  virtual std::string done(const Usage& usage) = 0;
  // At any moment of a stream, before its opening too; changes nothing for a client.
  virtual std::string heartbeat() = 0;
  // The last bytes of a stream that fails after its head was sent.
  virtual std::string failure(const ApiError& error) = 0;

  // Not a stream.
  virtual std::string whole(const std::vector<ChoiceStream>& choices,
                            const std::vector<TokenId>& prompt_ids) = 0;

  // Keeps what later requests of the attempt may go on from; after all of the reply's texts are made,
  // before the last is sent.
  virtual void remember(ResponseStore&) {}
};
}  // namespace corisco::gateway
