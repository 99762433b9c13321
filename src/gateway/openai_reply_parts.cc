#include "gateway/openai_reply_parts.h"

#include <algorithm>
#include <utility>

#include "corisco/base/json.h"
#include "gateway/wire_format.h"

namespace corisco::gateway {
namespace {
constexpr const char* kStreamDone = "data: [DONE]\n\n";

Json bytes_of(std::string_view text) {
  Json bytes = Json::array();
  for (const char c : text) bytes.push_back(static_cast<unsigned char>(c));
  return bytes;
}

Json one_logprob(const text::Tokenizer& tokenizer, TokenId id, double logprob) {
  const auto text = tokenizer.decode(std::span(&id, 1), true);
  const auto bytes = tokenizer.token_bytes(id);
  return {{"token", text},
          {"logprob", std::max(logprob, kLogprobMin)},
          {"bytes", bytes_of(bytes.empty() ? text : bytes)}};
}

Json prompt_entry(const text::Tokenizer* tokenizer, TokenId id, double logprob, std::uint32_t rank) {
  Json entry = {{"logprob", std::max(logprob, kLogprobMin)}, {"rank", rank}, {"decoded_token", nullptr}};
  if (tokenizer != nullptr) entry["decoded_token"] = tokenizer->decode(std::span(&id, 1), true);
  return entry;
}
}  // namespace

Json prompt_logprobs_json(const text::Tokenizer* tokenizer, const std::vector<TokenId>& prompt_ids,
                          const ChoiceStream& first, std::uint32_t num_tops) {
  const auto& tokens = first.prompt_logprobs();
  if (tokens.size() + 1 != prompt_ids.size()) return nullptr;
  Json list = Json::array({nullptr});
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const TokenId own = prompt_ids[i + 1];
    Json entries = Json::object();
    entries[cat(own)] = prompt_entry(tokenizer, own, tokens[i].logprob, tokens[i].rank);
    std::uint32_t rank = 0;
    for (const auto& top : tokens[i].top) {
      if (++rank > num_tops) break;
      if (top.id != own) entries[cat(top.id)] = prompt_entry(tokenizer, top.id, top.logprob, rank);
    }
    list.push_back(std::move(entries));
  }
  return list;
}

Json logprob_json(const text::Tokenizer& tokenizer, const SampledToken& token, std::span<const TopLogprob> tops,
                  std::uint32_t num_tops) {
  auto shown = one_logprob(tokenizer, token.id, token.sampled_logprob);
  shown["top_logprobs"] = Json::array();
  for (const auto& top : tops.first(std::min<std::size_t>(tops.size(), num_tops)))
    shown["top_logprobs"].push_back(one_logprob(tokenizer, top.id, top.logprob));
  return shown;
}

std::string stream_event(const Json& value) { return cat("data: ", json_text(value), "\n\n"); }

Json usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}},
          {"completion_tokens_details", {{"reasoning_tokens", usage.reasoning_tokens}}}};
}

ApiError prompt_too_long(std::size_t prompt_tokens, std::uint32_t context_tokens_max, const char* param,
                         const char* what) {
  return invalid_request(cat("This model's maximum context length is ", context_tokens_max,
                             " tokens. However, your request has ", prompt_tokens,
                             " input tokens. Please reduce the length of the input ", what, "."),
                         param, kContextOverflow);
}

OpenAiReply::OpenAiReply(const char* id_prefix, const char* chunk_object, const ReplyOrigin& origin,
                         const ChatRequest& request)
    : returns_token_ids_(request.returns_token_ids), returns_logprobs_(request.returns_logprobs),
      top_logprobs_(request.top_logprobs), prompt_logprobs_(request.prompt_logprobs),
      id_(cat(id_prefix, origin.request_id)), model_(origin.model),
      chunk_object_(chunk_object), created_(static_cast<std::int64_t>(origin.created_unix_seconds)),
      includes_usage_(request.includes_usage) {}

Json OpenAiReply::base(const char* object) const {
  return {{"id", id_}, {"object", object}, {"created", created_}, {"model", model_}};
}

Json OpenAiReply::chunk(Json shown) const {
  auto chunk = base(chunk_object_);
  chunk["choices"] = Json::array({std::move(shown)});
  if (includes_usage_) chunk["usage"] = nullptr;   // that of the last chunk is the one
  return chunk;
}

std::string OpenAiReply::done(const Usage& usage) {
  if (!includes_usage_) return kStreamDone;
  auto chunk = base(chunk_object_);
  chunk["choices"] = Json::array();
  chunk["usage"] = usage_json(usage);
  return stream_event(chunk) + kStreamDone;
}

std::string OpenAiReply::failure(const ApiError& error) { return cat("data: ", to_json(error), "\n\n", kStreamDone); }
}  // namespace corisco::gateway
