#include "gateway/chat_reply.h"

#include <utility>

#include "corisco/base/strings.h"
#include "gateway/json_fields.h"

namespace corisco::gateway {
namespace {
std::string dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string event(const Json& value) { return cat("data: ", dump(value), "\n\n"); }

Json bytes_of(std::string_view text) {
  Json bytes = Json::array();
  for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
  return bytes;
}

Json ids_of(const std::vector<SampledToken>& tokens) {
  Json ids = Json::array();
  for (const auto& token : tokens) ids.push_back(token.id);
  return ids;
}

// {token, logprob, bytes}; a control token by its name.
Json logprob_entry(const text::Tokenizer& tokenizer, TokenId id, float logprob) {
  const auto text = tokenizer.decode(std::span(&id, 1), true);
  const auto bytes = tokenizer.token_bytes(id);
  return {{"token", text}, {"logprob", logprob}, {"bytes", bytes_of(bytes.empty() ? text : bytes)}};
}

Json logprobs_of(const text::Tokenizer& tokenizer, const std::vector<SampledToken>& tokens,
                 const std::vector<std::vector<TopLogprob>>& tops, std::uint32_t num_tops) {
  Json content = Json::array();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    auto entry = logprob_entry(tokenizer, tokens[i].id, tokens[i].sampled_logprob);
    entry["top_logprobs"] = Json::array();
    for (std::size_t k = 0; i < tops.size() && k < tops[i].size() && k < num_tops; ++k)
      entry["top_logprobs"].push_back(logprob_entry(tokenizer, tops[i][k].id, tops[i][k].logprob));
    content.push_back(std::move(entry));
  }
  return {{"content", std::move(content)}, {"refusal", nullptr}};
}

Json usage_of(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
}

Json reply_base(const std::string& id, const char* object, std::int64_t created, const std::string& model) {
  return {{"id", id}, {"object", object}, {"created", created}, {"model", model}};
}

Json stream_choice(std::uint32_t choice, Json delta) {
  return {{"index", choice}, {"delta", std::move(delta)}, {"logprobs", nullptr}, {"finish_reason", nullptr}};
}
constexpr const char* kChunk = "chat.completion.chunk";
}  // namespace

ChatReply::ChatReply(std::string id, std::string model, double created_unix_seconds,
                     const ChatRequest& request, std::shared_ptr<const text::Tokenizer> tokenizer)
    : id_(std::move(id)), model_(std::move(model)), created_(static_cast<std::int64_t>(created_unix_seconds)),
      returns_token_ids_(request.returns_token_ids), returns_logprobs_(request.returns_logprobs),
      top_logprobs_(request.top_logprobs), tokenizer_(std::move(tokenizer)) {}

std::string ChatReply::opening(std::uint32_t choice, const std::vector<TokenId>& prompt_ids) const {
  auto chunk = reply_base(id_, kChunk, created_, model_);
  chunk["choices"] = Json::array({stream_choice(choice, {{"role", "assistant"}, {"content", ""}})});
  if (returns_token_ids_ && choice == 0) chunk["prompt_token_ids"] = prompt_ids;
  return event(chunk);
}

std::string ChatReply::piece(std::uint32_t choice, const ChoicePiece& piece) const {
  const bool shows_tokens = (returns_token_ids_ || returns_logprobs_) && !piece.tokens.empty();
  if (piece.text.empty() && !shows_tokens) return {};
  auto shown = stream_choice(choice, {{"content", piece.text}});
  if (returns_logprobs_)
    shown["logprobs"] = logprobs_of(*tokenizer_, piece.tokens, piece.top_logprobs, top_logprobs_);
  if (returns_token_ids_) shown["token_ids"] = ids_of(piece.tokens);
  auto chunk = reply_base(id_, kChunk, created_, model_);
  chunk["choices"] = Json::array({std::move(shown)});
  return event(chunk);
}

std::string ChatReply::ending(std::uint32_t choice, FinishReason finish) const {
  auto shown = stream_choice(choice, Json::object());
  shown["finish_reason"] = to_string(finish);
  auto chunk = reply_base(id_, kChunk, created_, model_);
  chunk["choices"] = Json::array({std::move(shown)});
  return event(chunk);
}

std::string ChatReply::usage(const Usage& usage) const {
  auto chunk = reply_base(id_, kChunk, created_, model_);
  chunk["choices"] = Json::array();
  chunk["usage"] = usage_of(usage);
  return event(chunk);
}

std::string ChatReply::heartbeat() const {
  auto chunk = reply_base(id_, kChunk, created_, model_);
  chunk["choices"] = Json::array({stream_choice(0, Json::object())});
  return event(chunk);
}

std::string ChatReply::failure(const ApiError& error) { return cat("data: ", to_json(error), "\n\n"); }

std::string ChatReply::whole(const std::vector<ChoiceStream>& choices,
                             const std::vector<TokenId>& prompt_ids) const {
  auto reply = reply_base(id_, "chat.completion", created_, model_);
  Usage usage{prompt_ids.size(), 0};
  reply["choices"] = Json::array();
  for (std::uint32_t i = 0; i < choices.size(); ++i) {
    const auto& choice = choices[i];
    usage.completion_tokens += choice.tokens().size();
    Json shown = {{"index", i}, {"message", {{"role", "assistant"}, {"content", choice.text()}}}};
    shown["logprobs"] = nullptr;
    if (returns_logprobs_)
      shown["logprobs"] = logprobs_of(*tokenizer_, choice.tokens(), choice.top_logprobs(), top_logprobs_);
    shown["finish_reason"] = to_string(choice.finish().value_or(FinishReason::aborted));
    if (returns_token_ids_) shown["token_ids"] = ids_of(choice.tokens());
    reply["choices"].push_back(std::move(shown));
  }
  reply["usage"] = usage_of(usage);
  if (returns_token_ids_) reply["prompt_token_ids"] = prompt_ids;
  return dump(reply);
}
}  // namespace corisco::gateway
