// The chat completion's reply: chunks of a stream, or one JSON body.
#include <utility>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "corisco/types/token_ids.h"
#include "gateway/openai_chat.h"
#include "gateway/openai_reply_parts.h"

namespace corisco::gateway {
namespace {
Json logprobs_of(const text::Tokenizer& tokenizer, const std::vector<SampledToken>& tokens,
                 const std::vector<std::vector<TopLogprob>>& tops, std::uint32_t num_tops) {
  Json content = Json::array();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto top = i < tops.size() ? std::span(tops[i]) : std::span<const TopLogprob>();
    content.push_back(logprob_json(tokenizer, tokens[i], top, num_tops));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

Json stream_choice(std::uint32_t choice, Json delta) {
  return {{"index", choice}, {"delta", std::move(delta)}, {"logprobs", nullptr}, {"finish_reason", nullptr}};
}

const char* finish_of(const ChoiceStream& ended) {
  if (ended.has_calls() && ended.finish() == FinishReason::stop) return "tool_calls";
  return to_string(ended.finish().value_or(FinishReason::aborted));
}

using Kind = tool_calls::Event::Kind;

// Under both names that clients look for.
void set_reasoning(Json& to, const std::string& text) {
  to["reasoning_content"] = text;
  to["reasoning"] = text;
}

// Null if nothing shows. A broken call shows as far as it came, and its text is not repeated.
Json delta_of(const ReplyPart& part) {
  Json delta;
  switch (part.kind) {
    case Kind::text:
      if (!part.is_broken) delta["content"] = part.text;
      break;
    case Kind::reasoning: set_reasoning(delta, part.text); break;
    case Kind::call_begin:
      delta["tool_calls"] = Json::array({{{"index", part.index},
                                          {"id", part.call_id},
                                          {"type", "function"},
                                          {"function", {{"name", part.text}, {"arguments", ""}}}}});
      break;
    case Kind::arguments:
      delta["tool_calls"] = Json::array({{{"index", part.index}, {"function", {{"arguments", part.text}}}}});
      break;
    case Kind::call_end:
    case Kind::parse_error: break;
  }
  return delta;
}

Json message_of(const ChoiceStream& ended) {
  std::string content, reasoning;
  Json calls = Json::array();
  for (const auto& part : ended.parts()) {
    if (part.kind == Kind::text && !part.is_broken) content += part.text;
    if (part.kind == Kind::reasoning) reasoning += part.text;
    if (part.kind == Kind::arguments) calls.back()["function"]["arguments"] = part.text;
    if (part.kind == Kind::call_begin) {
      calls.push_back({{"id", part.call_id},
                       {"type", "function"},
                       {"function", {{"name", part.text}, {"arguments", ""}}}});
    }
  }
  Json message = {{"role", "assistant"}, {"content", content}};
  if (content.empty() && !calls.empty()) message["content"] = nullptr;
  if (!reasoning.empty()) set_reasoning(message, reasoning);
  if (!calls.empty()) message["tool_calls"] = std::move(calls);
  return message;
}

class OpenAiChatReply final : public OpenAiReply {
 public:
  OpenAiChatReply(ReplyOrigin origin, const ChatRequest& request)
      : OpenAiReply("chatcmpl-", "chat.completion.chunk", origin, request), tokenizer_(std::move(origin.tokenizer)) {}
  std::string opening(std::uint32_t choice, const std::vector<TokenId>& prompt_ids) override;
  std::string piece(std::uint32_t choice, const ChoicePiece& piece) override;
  std::string ending(std::uint32_t choice, const ChoiceStream& ended) override;
  std::string heartbeat() override { return stream_event(chunk(stream_choice(0, Json::object()))); }
  std::string whole(const std::vector<ChoiceStream>& choices, const std::vector<TokenId>& prompt_ids) override;

 private:
  std::shared_ptr<const text::Tokenizer> tokenizer_;
};

std::string OpenAiChatReply::opening(std::uint32_t choice, const std::vector<TokenId>& prompt_ids) {
  auto opened = chunk(stream_choice(choice, {{"role", "assistant"}, {"content", ""}}));
  if (returns_token_ids_ && choice == 0) opened["prompt_token_ids"] = prompt_ids;
  return stream_event(opened);
}

std::string OpenAiChatReply::piece(std::uint32_t choice, const ChoicePiece& piece) {
  const bool shows_tokens = (returns_token_ids_ || returns_logprobs_) && !piece.tokens.empty();
  std::vector<Json> deltas;
  for (const auto& part : piece.parts)
    if (auto delta = delta_of(part); !delta.is_null()) deltas.push_back(std::move(delta));
  if (deltas.empty() && shows_tokens) deltas.push_back({{"content", ""}});
  std::string chunks;
  for (std::size_t i = 0; i < deltas.size(); ++i) {   // the tokens go with the first
    auto shown = stream_choice(choice, std::move(deltas[i]));
    if (returns_logprobs_ && i == 0)
      shown["logprobs"] = logprobs_of(*tokenizer_, piece.tokens, piece.top_logprobs, top_logprobs_);
    if (returns_token_ids_ && i == 0) shown["token_ids"] = token_ids(piece.tokens);
    chunks += stream_event(chunk(std::move(shown)));
  }
  return chunks;
}

std::string OpenAiChatReply::ending(std::uint32_t choice, const ChoiceStream& ended) {
  auto shown = stream_choice(choice, Json::object());
  shown["finish_reason"] = finish_of(ended);
  return stream_event(chunk(std::move(shown)));
}

std::string OpenAiChatReply::whole(const std::vector<ChoiceStream>& choices,
                                   const std::vector<TokenId>& prompt_ids) {
  auto reply = base("chat.completion");
  Usage usage;
  usage.prompt_tokens = prompt_ids.size();
  reply["choices"] = Json::array();
  for (std::uint32_t i = 0; i < choices.size(); ++i) {
    const auto& choice = choices[i];
    usage.add(choice);
    Json shown = {{"index", i}, {"message", message_of(choice)}};
    shown["logprobs"] = nullptr;
    if (returns_logprobs_)
      shown["logprobs"] = logprobs_of(*tokenizer_, choice.tokens(), choice.top_logprobs(), top_logprobs_);
    shown["finish_reason"] = finish_of(choice);
    if (returns_token_ids_) shown["token_ids"] = token_ids(choice.tokens());
    reply["choices"].push_back(std::move(shown));
  }
  reply["usage"] = usage_json(usage);
  if (returns_token_ids_) reply["prompt_token_ids"] = prompt_ids;
  if (prompt_logprobs_)
    reply["prompt_logprobs"] =
        prompt_logprobs_json(tokenizer_.get(), prompt_ids, choices.front(), *prompt_logprobs_);
  return json_text(reply);
}
}  // namespace

std::unique_ptr<ChatReply> OpenAiChat::start_reply(ReplyOrigin origin, const ChatRequest& request) const {
  return std::make_unique<OpenAiChatReply>(std::move(origin), request);
}

ApiError OpenAiChat::context_overflow(std::size_t prompt_tokens, std::uint32_t context_tokens_max) const {
  return prompt_too_long(prompt_tokens, context_tokens_max, "messages", "messages");
}
}  // namespace corisco::gateway
