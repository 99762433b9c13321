// What the replies of OpenAI's APIs have in common. Pure; .cc files of the edge include it.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gateway/chat_reply.h"
#include "gateway/chat_request.h"
#include "gateway/json_fields.h"

namespace corisco::gateway {
// One event of a stream.
std::string stream_event(const Json& value);
// {token, logprob, bytes, top_logprobs: [{token, logprob, bytes}...]} of a sampled token; a control token
// by its name. tops: most probable first; num_tops of them are shown.
Json logprob_json(const text::Tokenizer& tokenizer, const SampledToken& token, std::span<const TopLogprob> tops,
                  std::uint32_t num_tops);
inline constexpr double kLogprobMin = -9999;   // JSON has no infinity
// vLLM's prompt_logprobs: null for the first token; for each further one {id: {logprob, rank, decoded_token}}, its own
// and then those of num_tops alternatives. tokenizer: null where no text goes over the wire. first: of the reply's
// choices. Null if that has none: the gateway made the reply itself.
Json prompt_logprobs_json(const text::Tokenizer* tokenizer, const std::vector<TokenId>& prompt_ids,
                          const ChoiceStream& first, std::uint32_t num_tops);
// With the details that clients parse.
Json usage_json(const Usage& usage);
// The text of a prompt that leaves no room, by which agents know to compact. what: what to shorten.
ApiError prompt_too_long(std::size_t prompt_tokens, std::uint32_t context_tokens_max, const char* param,
                         const char* what);

// A reply of chat completions or completions but for what a choice shows.
class OpenAiReply : public ChatReply {
 public:
  std::string done(const Usage& usage) override;
  std::string failure(const ApiError& error) override;

 protected:
  // chunk_object: what each chunk of a stream says that it is.
  OpenAiReply(const char* id_prefix, const char* chunk_object, const ReplyOrigin& origin, const ChatRequest& request);
  Json base(const char* object) const;
  Json chunk(Json shown) const;          // of one choice

  const bool returns_token_ids_, returns_logprobs_;
  const std::uint32_t top_logprobs_;
  const std::optional<std::uint32_t> prompt_logprobs_;

 private:
  const std::string id_, model_;
  const char* const chunk_object_;
  const std::int64_t created_;
  const bool includes_usage_;
};
}  // namespace corisco::gateway
