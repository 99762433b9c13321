// The completion's reply: chunks of a stream, or one JSON body.
#include <algorithm>
#include <utility>

#include "corisco/base/json.h"
#include "corisco/types/token_ids.h"
#include "gateway/openai_completions.h"
#include "gateway/openai_reply_parts.h"

namespace corisco::gateway {
namespace {
constexpr const char* kObject = "text_completion";   // chunks have the same name

// The log-probabilities of one choice, token by token, with where each token begins in the text.
class LogprobLists {
 public:
  explicit LogprobLists(std::shared_ptr<const text::Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}
  Json of(const std::vector<SampledToken>& tokens, const std::vector<std::vector<TopLogprob>>& tops,
          std::uint32_t num_tops);

 private:
  std::string name_of(TokenId id) const { return tokenizer_->decode(std::span(&id, 1), true); }
  std::size_t take_offset(TokenId id);

  std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::size_t num_tokens_ = 0;
  std::size_t num_characters_ = 0;       // begun by the tokens so far
};

// In characters; of a token that goes on with a character, where the next one begins.
std::size_t LogprobLists::take_offset(TokenId id) {
  const auto offset = num_characters_;
  const auto bytes = tokenizer_->token_bytes(id);
  std::string_view shown = bytes;
  if (num_tokens_++ == 0 && tokenizer_->strips_first_space() && starts_with(shown, " ")) shown.remove_prefix(1);
  const auto begins_one = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; };
  num_characters_ += static_cast<std::size_t>(std::count_if(shown.begin(), shown.end(), begins_one));
  return offset;
}

// top_logprobs has the most probable tokens by name, and always the sampled one.
Json LogprobLists::of(const std::vector<SampledToken>& tokens, const std::vector<std::vector<TopLogprob>>& tops,
                      std::uint32_t num_tops) {
  Json lists = {{"text_offset", Json::array()},
                {"token_logprobs", Json::array()},
                {"tokens", Json::array()},
                {"top_logprobs", Json::array()}};
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto name = name_of(tokens[i].id);
    const double logprob = std::max<double>(tokens[i].sampled_logprob, kLogprobMin);
    lists["text_offset"].push_back(take_offset(tokens[i].id));
    lists["token_logprobs"].push_back(logprob);
    lists["tokens"].push_back(name);
    Json best = Json::object();
    best[name] = logprob;
    for (std::size_t k = 0; i < tops.size() && k < tops[i].size() && k < num_tops; ++k)
      best.emplace(name_of(tops[i][k].id), std::max<double>(tops[i][k].logprob, kLogprobMin));
    lists["top_logprobs"].push_back(std::move(best));
  }
  return lists;
}

Json choice_of(std::uint32_t index, const std::string& text) {
  return {{"index", index}, {"text", text}, {"logprobs", nullptr}, {"finish_reason", nullptr}};
}

class OpenAiCompletionReply final : public OpenAiReply {
 public:
  OpenAiCompletionReply(ReplyOrigin origin, const ChatRequest& request)
      : OpenAiReply("cmpl-", kObject, origin, request), tokenizer_(std::move(origin.tokenizer)),
        logprobs_(request.num_choices, LogprobLists(tokenizer_)) {}
  std::string opening(std::uint32_t choice, const std::vector<TokenId>& prompt_ids) override;
  std::string piece(std::uint32_t choice, const ChoicePiece& piece) override;
  std::string ending(std::uint32_t choice, const ChoiceStream& ended) override;
  std::string heartbeat() override { return stream_event(chunk(choice_of(0, ""))); }
  std::string whole(const std::vector<ChoiceStream>& choices, const std::vector<TokenId>& prompt_ids) override;

 private:
  const std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::vector<LogprobLists> logprobs_;   // by choice
};

std::string OpenAiCompletionReply::opening(std::uint32_t choice, const std::vector<TokenId>& prompt_ids) {
  auto shown = choice_of(choice, "");
  if (returns_token_ids_) shown["prompt_token_ids"] = prompt_ids;
  return stream_event(chunk(std::move(shown)));
}

std::string OpenAiCompletionReply::piece(std::uint32_t choice, const ChoicePiece& piece) {
  const bool shows_tokens = (returns_token_ids_ || returns_logprobs_) && !piece.tokens.empty();
  if (piece.text.empty() && !shows_tokens) return {};
  auto shown = choice_of(choice, piece.text);
  if (returns_logprobs_) shown["logprobs"] = logprobs_[choice].of(piece.tokens, piece.top_logprobs, top_logprobs_);
  if (returns_token_ids_) shown["token_ids"] = token_ids(piece.tokens);
  return stream_event(chunk(std::move(shown)));
}

std::string OpenAiCompletionReply::ending(std::uint32_t choice, const ChoiceStream& ended) {
  auto shown = choice_of(choice, "");
  shown["finish_reason"] = to_string(ended.finish().value_or(FinishReason::aborted));
  return stream_event(chunk(std::move(shown)));
}

std::string OpenAiCompletionReply::whole(const std::vector<ChoiceStream>& choices,
                                         const std::vector<TokenId>& prompt_ids) {
  auto reply = base(kObject);
  Usage usage;
  usage.prompt_tokens = prompt_ids.size();
  reply["choices"] = Json::array();
  Json prompt_logprobs;
  if (returns_prompt_logprobs_)
    prompt_logprobs = prompt_logprobs_json(tokenizer_.get(), prompt_ids, choices.front());
  for (std::uint32_t i = 0; i < choices.size(); ++i) {
    const auto& choice = choices[i];
    usage.add(choice);
    auto shown = choice_of(i, choice.text());
    if (returns_logprobs_) shown["logprobs"] = logprobs_[i].of(choice.tokens(), choice.top_logprobs(), top_logprobs_);
    shown["finish_reason"] = to_string(choice.finish().value_or(FinishReason::aborted));
    if (returns_token_ids_) {
      shown["token_ids"] = token_ids(choice.tokens());
      shown["prompt_token_ids"] = prompt_ids;
    }
    if (returns_prompt_logprobs_) shown["prompt_logprobs"] = prompt_logprobs;
    reply["choices"].push_back(std::move(shown));
  }
  reply["usage"] = usage_json(usage);
  return json_text(reply);
}
}  // namespace

std::unique_ptr<ChatReply> OpenAiCompletions::start_reply(ReplyOrigin origin, const ChatRequest& request) const {
  return std::make_unique<OpenAiCompletionReply>(std::move(origin), request);
}

ApiError OpenAiCompletions::context_overflow(std::size_t prompt_tokens, std::uint32_t context_tokens_max) const {
  return prompt_too_long(prompt_tokens, context_tokens_max, "prompt", "prompt");
}
}  // namespace corisco::gateway
