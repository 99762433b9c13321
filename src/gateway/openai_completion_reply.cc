// The completion's reply: chunks of a stream, or one JSON body.
#include <algorithm>
#include <optional>
#include <span>
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
  LogprobLists(std::shared_ptr<const text::Tokenizer> tokenizer, std::uint32_t num_tops)
      : tokenizer_(std::move(tokenizer)), num_tops_(num_tops), strips_space_(tokenizer_->strips_first_space()) {}
  // Of a prompt that is echoed: the first num_hidden tokens are not in its text. scored: of all but the first token;
  // others are none, as in a reply that the gateway made itself.
  void add_prompt(const std::vector<TokenId>& ids, std::size_t num_hidden, const std::vector<PromptLogprob>& scored);
  void add(const std::vector<SampledToken>& tokens, const std::vector<std::vector<TopLogprob>>& tops);
  // What was added since the last time.
  Json take() { return std::exchange(lists_, no_lists()); }

 private:
  static Json no_lists() {
    return {{"text_offset", Json::array()},
            {"token_logprobs", Json::array()},
            {"tokens", Json::array()},
            {"top_logprobs", Json::array()}};
  }
  std::string name_of(TokenId id) const { return tokenizer_->decode(std::span(&id, 1), true); }
  void add_token(TokenId id, std::string_view shown);
  void add_logprob(TokenId id, double logprob, std::span<const TopLogprob> tops);
  std::size_t take_offset(std::string_view shown);

  std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::uint32_t num_tops_;
  bool strips_space_;                    // until the first byte, if the tokenizer does so
  std::size_t num_characters_ = 0;       // begun by the tokens so far
  Json lists_ = no_lists();
};

// In characters; of a token that goes on with a character, where the next one begins. shown: of the token in the text.
std::size_t LogprobLists::take_offset(std::string_view shown) {
  const auto offset = num_characters_;
  if (strips_space_ && !shown.empty()) {
    if (shown.front() == ' ') shown.remove_prefix(1);
    strips_space_ = false;
  }
  const auto begins_one = [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; };
  num_characters_ += static_cast<std::size_t>(std::count_if(shown.begin(), shown.end(), begins_one));
  return offset;
}

void LogprobLists::add_token(TokenId id, std::string_view shown) {
  lists_["text_offset"].push_back(take_offset(shown));
  lists_["tokens"].push_back(name_of(id));
}

// top_logprobs has the most probable tokens by name, and always the one that is there.
void LogprobLists::add_logprob(TokenId id, double logprob, std::span<const TopLogprob> tops) {
  const double told = std::max(logprob, kLogprobMin);
  lists_["token_logprobs"].push_back(told);
  Json best = Json::object();
  best[name_of(id)] = told;
  for (const auto& top : tops.first(std::min<std::size_t>(tops.size(), num_tops_)))
    best.emplace(name_of(top.id), std::max<double>(top.logprob, kLogprobMin));
  lists_["top_logprobs"].push_back(std::move(best));
}

void LogprobLists::add_prompt(const std::vector<TokenId>& ids, std::size_t num_hidden,
                              const std::vector<PromptLogprob>& scored) {
  if (scored.size() + 1 != ids.size()) return;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto text = tokenizer_->is_special(ids[i]) ? name_of(ids[i]) : tokenizer_->token_bytes(ids[i]);
    add_token(ids[i], i < num_hidden ? std::string_view() : text);
    if (i == 0) {
      for (const char* name : {"token_logprobs", "top_logprobs"}) lists_[name].push_back(nullptr);
    } else {
      add_logprob(ids[i], scored[i - 1].logprob, scored[i - 1].top);
    }
  }
}

void LogprobLists::add(const std::vector<SampledToken>& tokens, const std::vector<std::vector<TopLogprob>>& tops) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    add_token(tokens[i].id, tokenizer_->token_bytes(tokens[i].id));
    add_logprob(tokens[i].id, tokens[i].sampled_logprob,
                i < tops.size() ? std::span<const TopLogprob>(tops[i]) : std::span<const TopLogprob>());
  }
}

Json choice_of(std::uint32_t index, const std::string& text) {
  return {{"index", index}, {"text", text}, {"logprobs", nullptr}, {"finish_reason", nullptr}};
}

class OpenAiCompletionReply final : public OpenAiReply {
 public:
  OpenAiCompletionReply(ReplyOrigin origin, const ChatRequest& request)
      : OpenAiReply("cmpl-", kObject, origin, request), tokenizer_(std::move(origin.tokenizer)),
        echoes_prompt_(request.echoes_prompt), adds_prompt_prefix_(request.adds_prompt_prefix),
        sent_prompt_(echoes_prompt_ ? request.prompt_text : std::nullopt),
        logprobs_(request.num_choices, LogprobLists(tokenizer_, top_logprobs_)) {}
  void score_prompt(const std::vector<PromptLogprob>& scored) override { scored_ = scored; }
  std::string opening(std::uint32_t choice, const std::vector<TokenId>& prompt_ids) override;
  std::string piece(std::uint32_t choice, const ChoicePiece& piece) override;
  std::string ending(std::uint32_t choice, const ChoiceStream& ended) override;
  std::string heartbeat() override { return stream_event(chunk(choice_of(0, ""))); }
  std::string whole(const std::vector<ChoiceStream>& choices, const std::vector<TokenId>& prompt_ids) override;

 private:
  std::string echo(const std::vector<TokenId>& prompt_ids) const;
  void add_echoed_logprobs(std::uint32_t index, const std::vector<TokenId>& prompt_ids);

  const std::shared_ptr<const text::Tokenizer> tokenizer_;
  const bool echoes_prompt_, adds_prompt_prefix_;
  const std::optional<std::string> sent_prompt_;   // to be echoed; none: ids were sent
  std::vector<LogprobLists> logprobs_;   // by choice
  std::vector<PromptLogprob> scored_;    // of the prompt, if it is echoed with them
};

// A text as it was sent, without what the tokenizer puts before it; ids with their control tokens.
std::string OpenAiCompletionReply::echo(const std::vector<TokenId>& prompt_ids) const {
  if (!echoes_prompt_) return {};
  return sent_prompt_ ? *sent_prompt_ : tokenizer_->decode(prompt_ids, true);
}

std::string OpenAiCompletionReply::opening(std::uint32_t choice, const std::vector<TokenId>& prompt_ids) {
  auto shown = choice_of(choice, echo(prompt_ids));
  if (echoes_prompt_ && returns_logprobs_) {
    add_echoed_logprobs(choice, prompt_ids);
    shown["logprobs"] = logprobs_[choice].take();
  }
  if (returns_token_ids_) shown["prompt_token_ids"] = prompt_ids;
  return stream_event(chunk(std::move(shown)));
}

std::string OpenAiCompletionReply::piece(std::uint32_t choice, const ChoicePiece& piece) {
  const bool shows_tokens = (returns_token_ids_ || returns_logprobs_) && !piece.tokens.empty();
  if (piece.text.empty() && !shows_tokens) return {};
  auto shown = choice_of(choice, piece.text);
  if (returns_logprobs_) {
    logprobs_[choice].add(piece.tokens, piece.top_logprobs);
    shown["logprobs"] = logprobs_[choice].take();
  }
  if (returns_token_ids_) shown["token_ids"] = token_ids(piece.tokens);
  return stream_event(chunk(std::move(shown)));
}

std::string OpenAiCompletionReply::ending(std::uint32_t choice, const ChoiceStream& ended) {
  auto shown = choice_of(choice, "");
  shown["finish_reason"] = to_string(ended.finish().value_or(FinishReason::aborted));
  return stream_event(chunk(std::move(shown)));
}

void OpenAiCompletionReply::add_echoed_logprobs(std::uint32_t index, const std::vector<TokenId>& prompt_ids) {
  const auto num_hidden = sent_prompt_ && adds_prompt_prefix_ ? tokenizer_->own_prefix().size() : 0;
  logprobs_[index].add_prompt(prompt_ids, num_hidden, scored_);
}

std::string OpenAiCompletionReply::whole(const std::vector<ChoiceStream>& choices,
                                         const std::vector<TokenId>& prompt_ids) {
  auto reply = base(kObject);
  Usage usage;
  usage.prompt_tokens = prompt_ids.size();
  reply["choices"] = Json::array();
  const auto echoed = echo(prompt_ids);
  if (echoes_prompt_) scored_ = choices.front().prompt_logprobs();   // who alone is asked for them
  Json prompt_logprobs;
  if (prompt_logprobs_)
    prompt_logprobs = prompt_logprobs_json(tokenizer_.get(), prompt_ids, choices.front(), *prompt_logprobs_);
  for (std::uint32_t i = 0; i < choices.size(); ++i) {
    const auto& choice = choices[i];
    usage.add(choice);
    auto shown = choice_of(i, echoed + choice.text());
    if (returns_logprobs_) {
      if (echoes_prompt_) add_echoed_logprobs(i, prompt_ids);
      logprobs_[i].add(choice.tokens(), choice.top_logprobs());
      shown["logprobs"] = logprobs_[i].take();
    }
    shown["finish_reason"] = to_string(choice.finish().value_or(FinishReason::aborted));
    if (returns_token_ids_) {
      shown["token_ids"] = token_ids(choice.tokens());
      shown["prompt_token_ids"] = prompt_ids;
    }
    if (prompt_logprobs_) shown["prompt_logprobs"] = prompt_logprobs;
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
