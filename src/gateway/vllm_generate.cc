// The request, and the reply as chunks of a stream or one JSON body.
#include "gateway/vllm_generate.h"

#include <algorithm>
#include <array>
#include <utility>

#include "corisco/base/json.h"
#include "corisco/types/token_ids.h"
#include "gateway/openai_reply_parts.h"
#include "gateway/request_fields.h"
#include "gateway/token_fields.h"

namespace corisco::gateway {
namespace {
constexpr double kLogprobMin = -9999;                 // JSON has no infinity
constexpr const char* kStreamDone = "data: [DONE]\n\n";

// Each would change the result, and is not supported.
constexpr std::array kUnsupported = {
    Unsupported{"features", is_empty_or_false},
    Unsupported{"kv_transfer_params", is_empty_or_false},
};

void read_logprobs(JsonFields& fields, ChatRequest& request) {
  const auto* params = fields.find("sampling_params");
  if (params == nullptr || !params->is_object()) return;
  JsonFields inner(*params);
  const auto logprobs = inner.integer("logprobs", 0, 20);
  request.returns_logprobs = logprobs.has_value();
  request.top_logprobs = static_cast<std::uint32_t>(logprobs.value_or(0));
  if (inner.problem()) fields.refuse("sampling_params.logprobs", "must be from 0 to 20");
}

// By its id: vLLM's word for a token whose text is not looked up.
Json logprob_entry(TokenId id, float logprob) {
  return {{"token", cat("token_id:", id)}, {"token_id", id}, {"logprob", std::max<double>(logprob, kLogprobMin)},
          {"bytes", nullptr}};
}

Json logprobs_of(const std::vector<SampledToken>& tokens, const std::vector<std::vector<TopLogprob>>& tops,
                 std::uint32_t num_tops) {
  Json content = Json::array();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    auto entry = logprob_entry(tokens[i].id, tokens[i].sampled_logprob);
    auto best = Json::array();
    for (std::size_t k = 0; i < tops.size() && k < tops[i].size() && k < num_tops; ++k)
      best.push_back(logprob_entry(tops[i][k].id, tops[i][k].logprob));
    if (best.empty()) best.push_back(entry);
    entry["top_logprobs"] = std::move(best);
    content.push_back(std::move(entry));
  }
  return {{"content", std::move(content)}};
}

class VllmGenerateReply final : public ChatReply {
 public:
  VllmGenerateReply(const ReplyOrigin& origin, const ChatRequest& request)
      : id_(request.own_id.empty() ? origin.request_id : request.own_id), returns_logprobs_(request.returns_logprobs),
        includes_usage_(request.includes_usage), top_logprobs_(request.top_logprobs),
        prompt_logprobs_(request.prompt_logprobs) {}

  std::string opening(std::uint32_t, const std::vector<TokenId>&) override { return {}; }
  std::string piece(std::uint32_t choice, const ChoicePiece& piece) override {
    return piece.tokens.empty() ? std::string() : chunk(choice_of(choice, piece.tokens, piece.top_logprobs));
  }
  std::string ending(std::uint32_t choice, const ChoiceStream& ended) override {
    auto shown = choice_of(choice, {}, {});
    shown["logprobs"] = nullptr;
    shown["finish_reason"] = to_string(ended.finish().value_or(FinishReason::aborted));
    return chunk(std::move(shown));
  }
  std::string done(const Usage& usage) override {
    if (!includes_usage_) return kStreamDone;
    const Json last = {{"request_id", id_}, {"choices", Json::array()}, {"usage", usage_json(usage)}};
    return stream_event(last) + kStreamDone;
  }
  std::string heartbeat() override { return ": held\n\n"; }
  std::string failure(const ApiError& error) override { return cat("data: ", to_json(error), "\n\n", kStreamDone); }
  std::string whole(const std::vector<ChoiceStream>& choices, const std::vector<TokenId>& prompt_ids) override;

 private:
  Json choice_of(std::uint32_t index, const std::vector<SampledToken>& tokens,
                 const std::vector<std::vector<TopLogprob>>& tops) const {
    Json choice = {{"index", index}, {"logprobs", nullptr}, {"finish_reason", nullptr},
                   {"token_ids", token_ids(tokens)}};
    if (returns_logprobs_) choice["logprobs"] = logprobs_of(tokens, tops, top_logprobs_);
    return choice;
  }
  std::string chunk(Json choice) const {
    return stream_event(Json{{"request_id", id_}, {"choices", Json::array({std::move(choice)})}});
  }

  const std::string id_;
  const bool returns_logprobs_, includes_usage_;
  const std::uint32_t top_logprobs_;
  const std::optional<std::uint32_t> prompt_logprobs_;
};

std::string VllmGenerateReply::whole(const std::vector<ChoiceStream>& choices,
                                     const std::vector<TokenId>& prompt_ids) {
  Usage usage;
  usage.prompt_tokens = prompt_ids.size();
  Json list = Json::array();
  for (std::uint32_t i = 0; i < choices.size(); ++i) {
    usage.add(choices[i]);
    auto shown = choice_of(i, choices[i].tokens(), choices[i].top_logprobs());
    shown["finish_reason"] = to_string(choices[i].finish().value_or(FinishReason::aborted));
    list.push_back(std::move(shown));
  }
  Json reply = {{"request_id", id_}, {"choices", std::move(list)}, {"prompt_logprobs", nullptr},
                {"kv_transfer_params", nullptr}, {"usage", usage_json(usage)}};
  if (prompt_logprobs_)
    reply["prompt_logprobs"] =
        prompt_logprobs_json(/*tokenizer=*/nullptr, prompt_ids, choices.front(), *prompt_logprobs_);
  return json_text(reply);
}
}  // namespace

OrApiError<ChatRequest> parse_vllm_generate(const RequestBody& body, const ChatLimits& limits) {
  const auto parsed = body.json();
  if (const auto* error = std::get_if<ApiError>(parsed.get())) return *error;
  JsonFields fields(std::get<Json>(*parsed));
  ChatRequest request;
  read_model(fields, request);
  read_own_id(fields, "request_id", request);
  read_prompt_ids(fields, "token_ids", request);
  refuse_unsupported(fields, kUnsupported);
  read_sampling_params(fields, {}, 1, limits, request);
  read_logprobs(fields, request);
  if (fields.problem()) return *fields.problem();
  request.sent_messages_json = json_text(Json::array({{{"role", "user"}, {"content", request.prompt_ids}}}));
  return request;
}

std::unique_ptr<ChatReply> VllmGenerate::start_reply(ReplyOrigin origin, const ChatRequest& request) const {
  return std::make_unique<VllmGenerateReply>(origin, request);
}

ApiError VllmGenerate::context_overflow(std::size_t prompt_tokens, std::uint32_t context_tokens_max) const {
  return prompt_too_long(prompt_tokens, context_tokens_max, "token_ids", "prompt");
}
}  // namespace corisco::gateway
