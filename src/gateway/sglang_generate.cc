// The request, and the reply as events of a stream or one JSON body (a list of them, if n is above 1).
#include "gateway/sglang_generate.h"

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
// An event repeats all that came before it. Each comes when the reply has grown by this part, so that all
// events together are so many times longer than the reply at most, and not its square.
constexpr std::size_t kGrowthParts = 32;

// Each would change the result, and is not supported.
constexpr std::array kUnsupported = {
    Unsupported{"input_embeds", is_empty_or_false},          Unsupported{"image_data", is_empty_or_false},
    Unsupported{"video_data", is_empty_or_false},            Unsupported{"audio_data", is_empty_or_false},
    Unsupported{"token_ids_logprob", is_empty_or_false},     Unsupported{"return_hidden_states", is_empty_or_false},
    Unsupported{"return_routed_experts", is_empty_or_false}, Unsupported{"lora_path", is_empty_or_false},
    Unsupported{"session_params", is_empty_or_false},        Unsupported{"custom_logit_processor", is_empty_or_false},
};
constexpr std::array kUnsupportedParams = {
    Unsupported{"ebnf", is_empty_or_false},        Unsupported{"structural_tag", is_empty_or_false},
    Unsupported{"stop_regex", is_empty_or_false},  Unsupported{"no_stop_trim", is_empty_or_false},
    Unsupported{"prompt_logprobs", is_empty_or_false},
};
constexpr std::array<Renamed, 5> kRenamed = {
    Renamed{"max_new_tokens", "max_tokens"}, Renamed{"min_new_tokens", "min_tokens"}, Renamed{"sampling_seed", "seed"},
    Renamed{"json_schema", "guided_json"},   Renamed{"regex", "guided_regex"}};

void read_prompt(JsonFields& fields, ChatRequest& request) {
  const auto* text = fields.find("text");
  const auto* ids = fields.find("input_ids");
  if ((text == nullptr) == (ids == nullptr)) {
    fields.refuse("input_ids", "or 'text' must be there, and not both");
  } else if (ids != nullptr) {
    const bool is_batch = ids->is_array() && !ids->empty() && ids->front().is_array();
    if (is_batch)
      fields.refuse("input_ids", "holds several prompts; send each in a request of its own", "unsupported_parameter");
    else
      read_prompt_ids(fields, "input_ids", request);
  } else if (text->is_string() && !text->get_ref<const std::string&>().empty()) {
    request.prompt_text = text->get<std::string>();
  } else {
    fields.refuse("text", "must be one string, and not empty; send several in requests of their own");
  }
}

void refuse_unsupported_params(JsonFields& fields) {
  const auto* params = fields.find("sampling_params");
  if (params == nullptr || !params->is_object()) return;
  JsonFields inner(*params);
  refuse_unsupported(inner, kUnsupportedParams);
  if (!inner.problem()) return;
  fields.refuse(cat("sampling_params.", inner.problem()->param), "with this value is not supported",
                "unsupported_parameter");
}

// logprob_start_len: from which of the prompt's tokens on; -1: of the reply's alone. A stream begins before they are
// known.
void read_logprobs(JsonFields& fields, ChatRequest& request) {
  request.returns_logprobs = fields.flag("return_logprob", false);
  const auto tops = fields.integer("top_logprobs_num", 0, 20).value_or(0);
  const auto start = fields.integer("logprob_start_len", -1, 0x7fffffff).value_or(-1);
  if (!request.returns_logprobs) return;
  request.top_logprobs = static_cast<std::uint32_t>(tops);
  if (start < 0) return;
  request.prompt_logprobs = request.top_logprobs;
  request.prompt_logprobs_from = static_cast<std::uint32_t>(start);
  request.prompt_logprobs_name = "logprob_start_len";
  if (request.is_stream)
    fields.refuse("logprob_start_len", "is not available in a stream; ask without 'stream'", "unsupported_parameter");
}

Json finish_reason(const ChoiceStream& ended) {
  const auto finish = ended.finish().value_or(FinishReason::aborted);
  if (finish == FinishReason::length) return {{"type", "length"}, {"length", ended.tokens().size()}};
  if (finish == FinishReason::aborted) return {{"type", "abort"}};
  Json reason = {{"type", "stop"}, {"matched", nullptr}};
  if (!ended.stop_string().empty()) reason["matched"] = ended.stop_string();
  else if (!ended.tokens().empty()) reason["matched"] = ended.tokens().back().id;
  return reason;
}

class SglangGenerateReply final : public ChatReply {
 public:
  SglangGenerateReply(ReplyOrigin origin, const ChatRequest& request)
      : id_(request.own_id.empty() ? origin.request_id : request.own_id), tokenizer_(std::move(origin.tokenizer)),
        returns_logprobs_(request.returns_logprobs), scores_prompt_(request.prompt_logprobs.has_value()),
        top_logprobs_(request.top_logprobs), scored_from_(request.prompt_logprobs_from),
        choices_(request.num_choices) {}

  std::string opening(std::uint32_t, const std::vector<TokenId>& prompt_ids) override {
    num_prompt_tokens_ = prompt_ids.size();
    return {};
  }
  std::string piece(std::uint32_t choice, const ChoicePiece& piece) override;
  std::string ending(std::uint32_t choice, const ChoiceStream& ended) override {
    return stream_event(event_of(choice, shown_of(ended)));
  }
  std::string done(const Usage&) override { return kStreamDone; }
  std::string heartbeat() override { return ": held\n\n"; }
  std::string failure(const ApiError& error) override { return cat("data: ", to_json(error), "\n\n", kStreamDone); }
  std::string whole(const std::vector<ChoiceStream>& choices, const std::vector<TokenId>& prompt_ids) override;

 private:
  // Of one choice, as far as it has come.
  struct Grown {
    std::string text;
    std::vector<SampledToken> tokens;
    std::vector<std::vector<TopLogprob>> tops;
    std::size_t num_sent = 0;            // tokens
  };
  Json logprob_of(TokenId id, float logprob) const {
    return Json::array({std::max<double>(logprob, kLogprobMin), id, tokenizer_->decode(std::span(&id, 1), true)});
  }
  Json best_of(const std::vector<TopLogprob>& alternatives) const;
  void add_logprobs(Json& meta, const std::vector<SampledToken>& tokens,
                    const std::vector<std::vector<TopLogprob>>& tops) const;
  void add_prompt(Json& meta, const std::vector<TokenId>& prompt_ids, const std::vector<PromptLogprob>& scored) const;
  Json shown(const std::string& text, const std::vector<SampledToken>& tokens,
             const std::vector<std::vector<TopLogprob>>& tops) const;
  Json shown_of(const ChoiceStream& ended) const;
  Json event_of(std::uint32_t choice, Json shown) const {
    if (choices_.size() > 1) shown["index"] = choice;
    return shown;
  }

  const std::string id_;
  const std::shared_ptr<const text::Tokenizer> tokenizer_;
  const bool returns_logprobs_, scores_prompt_;
  const std::uint32_t top_logprobs_, scored_from_;
  std::size_t num_prompt_tokens_ = 0;
  std::vector<Grown> choices_;
};

Json SglangGenerateReply::best_of(const std::vector<TopLogprob>& alternatives) const {
  Json best = Json::array();
  for (std::size_t k = 0; k < alternatives.size() && k < top_logprobs_; ++k)
    best.push_back(logprob_of(alternatives[k].id, alternatives[k].logprob));
  return best;
}

void SglangGenerateReply::add_logprobs(Json& meta, const std::vector<SampledToken>& tokens,
                                       const std::vector<std::vector<TopLogprob>>& tops) const {
  meta["input_token_logprobs"] = Json::array();
  meta["output_token_logprobs"] = Json::array();
  for (const auto& token : tokens) meta["output_token_logprobs"].push_back(logprob_of(token.id, token.sampled_logprob));
  if (top_logprobs_ == 0) return;
  meta["output_top_logprobs"] = Json::array();
  for (const auto& alternatives : tops) meta["output_top_logprobs"].push_back(best_of(alternatives));
}

// Of each token after those before it, from one on, which itself has none. scored: of all but the prompt's first;
// empty of a reply that the gateway made itself.
void SglangGenerateReply::add_prompt(Json& meta, const std::vector<TokenId>& prompt_ids,
                                     const std::vector<PromptLogprob>& scored) const {
  if (top_logprobs_ > 0) meta["input_top_logprobs"] = Json::array();
  if (scored.size() + 1 != prompt_ids.size()) return;
  for (std::size_t i = scored_from_; i < prompt_ids.size(); ++i) {
    const bool is_first = i == scored_from_;
    auto entry = logprob_of(prompt_ids[i], is_first ? 0.0F : scored[i - 1].logprob);
    if (is_first) entry[0] = nullptr;
    meta["input_token_logprobs"].push_back(std::move(entry));
    if (top_logprobs_ > 0) meta["input_top_logprobs"].push_back(is_first ? Json() : best_of(scored[i - 1].top));
  }
}

Json SglangGenerateReply::shown(const std::string& text, const std::vector<SampledToken>& tokens,
                                const std::vector<std::vector<TopLogprob>>& tops) const {
  Json meta = {{"id", id_}, {"finish_reason", nullptr}, {"prompt_tokens", num_prompt_tokens_},
               {"completion_tokens", tokens.size()}};
  // The weights that drew the last token, as SGLang names them: by a text.
  if (!tokens.empty()) meta["weight_version"] = cat(tokens.back().policy_version);
  if (returns_logprobs_) add_logprobs(meta, tokens, tops);
  return {{"text", text}, {"output_ids", token_ids(tokens)}, {"meta_info", std::move(meta)}};
}

Json SglangGenerateReply::shown_of(const ChoiceStream& ended) const {
  auto last = shown(ended.text(), ended.tokens(), ended.top_logprobs());
  last["meta_info"]["finish_reason"] = finish_reason(ended);
  last["meta_info"]["cached_tokens"] = ended.num_cached_prompt_tokens();
  return last;
}

std::string SglangGenerateReply::piece(std::uint32_t choice, const ChoicePiece& piece) {
  auto& grown = choices_[choice];
  grown.text += piece.text;
  grown.tokens.insert(grown.tokens.end(), piece.tokens.begin(), piece.tokens.end());
  grown.tops.insert(grown.tops.end(), piece.top_logprobs.begin(), piece.top_logprobs.end());
  const auto num_new = grown.tokens.size() - grown.num_sent;
  if (num_new == 0 || num_new * kGrowthParts < grown.tokens.size()) return {};
  grown.num_sent = grown.tokens.size();
  return stream_event(event_of(choice, shown(grown.text, grown.tokens, grown.tops)));
}

std::string SglangGenerateReply::whole(const std::vector<ChoiceStream>& choices,
                                       const std::vector<TokenId>& prompt_ids) {
  num_prompt_tokens_ = prompt_ids.size();
  Json list = Json::array();
  for (const auto& choice : choices) {
    list.push_back(shown_of(choice));
    if (scores_prompt_) add_prompt(list.back()["meta_info"], prompt_ids, choices.front().prompt_logprobs());
  }
  return json_text(list.size() == 1 ? list.front() : list);
}
}  // namespace

OrApiError<ChatRequest> parse_sglang_generate(const RequestBody& body, const ChatLimits& limits) {
  const auto parsed = body.json();
  if (const auto* error = std::get_if<ApiError>(parsed.get())) return *error;
  JsonFields fields(std::get<Json>(*parsed));
  ChatRequest request;
  read_model(fields, request);
  read_own_id(fields, "rid", request);
  read_prompt(fields, request);
  refuse_unsupported(fields, kUnsupported);
  refuse_unsupported_params(fields);
  read_sampling_params(fields, kRenamed, 0, limits, request);
  read_logprobs(fields, request);
  if (fields.problem()) return *fields.problem();
  const Json content = request.prompt_text ? Json(*request.prompt_text) : Json(request.prompt_ids);
  request.sent_messages_json = json_text(Json::array({{{"role", "user"}, {"content", content}}}));
  return request;
}

std::unique_ptr<ChatReply> SglangGenerate::start_reply(ReplyOrigin origin, const ChatRequest& request) const {
  return std::make_unique<SglangGenerateReply>(std::move(origin), request);
}

ApiError SglangGenerate::context_overflow(std::size_t prompt_tokens, std::uint32_t context_tokens_max) const {
  return prompt_too_long(prompt_tokens, context_tokens_max, "input_ids", "prompt");
}
}  // namespace corisco::gateway
