// The reply to a Responses request: events of a stream, or one JSON body.
//
//   response.created, response.in_progress, (response.output_item.added, its deltas, its done,
//   response.output_item.done)..., then response.completed, .incomplete or .failed with all of it.
//   A sign of life is response.in_progress again: clients count no comment, and no other response's id.
#include <utility>

#include "corisco/base/json.h"
#include "gateway/openai_reply_parts.h"
#include "gateway/openai_responses.h"
#include "gateway/responses_history.h"
#include "gateway/responses_output.h"

namespace corisco::gateway {
namespace {
Json usage_of(const Usage& usage) {
  return {{"input_tokens", usage.prompt_tokens},
          {"input_tokens_details", {{"cached_tokens", usage.cached_tokens}, {"cache_write_tokens", 0}}},
          {"output_tokens", usage.completion_tokens},
          {"output_tokens_details", {{"reasoning_tokens", usage.reasoning_tokens}}},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens}};
}

// The codes that clients tell apart: whether to try again, to wait, to compact or to give up.
std::string code_of(const ApiError& error) {
  if (error.code == kContextOverflow) return error.code;
  if (error.is_final || error.status == 400) return "invalid_prompt";
  return error.status == 429 ? "rate_limit_exceeded" : "server_error";
}

class ResponsesReply final : public ChatReply {
 public:
  ResponsesReply(const ReplyOrigin& origin, const ChatRequest& request)
      : id_(cat("resp_", origin.request_id)), model_(origin.model),
        created_(static_cast<std::int64_t>(origin.created_unix_seconds)), turn_(request.responses),
        output_(origin.request_id, request.responses, request.is_stream ? &events_ : nullptr,
                {request.returns_logprobs ? origin.tokenizer : nullptr, request.top_logprobs}) {}

  // A response is one choice.
  std::string opening(std::uint32_t choice, const std::vector<TokenId>& prompt_ids) override;
  std::string piece(std::uint32_t choice, const ChoicePiece& piece) override;
  std::string ending(std::uint32_t choice, const ChoiceStream& ended) override;
  std::string done(const Usage& usage) override;
  std::string heartbeat() override;
  std::string failure(const ApiError& error) override;
  std::string whole(const std::vector<ChoiceStream>& choices, const std::vector<TokenId>& prompt_ids) override;
  void remember(ResponseStore& store) override;

 private:
  Json response(const char* status, Json output) const;
  Json ended_response(const Usage& usage) const;
  void tell(const char* type, Json response) { events_.add({{"type", type}, {"response", std::move(response)}}); }
  void begin();
  void end_output(const ChoiceStream& ended);

  std::string id_;
  std::string model_;
  std::int64_t created_;
  std::shared_ptr<const ResponsesTurn> turn_;
  ResponsesEvents events_;
  ResponsesOutput output_;
  bool has_begun_ = false;
  bool is_cut_ = false;                  // by the limit of tokens
};

Json ResponsesReply::response(const char* status, Json output) const {
  Json response = {{"id", id_},
                   {"object", "response"},
                   {"model", model_},
                   {"created_at", created_},
                   {"status", status},
                   {"background", false},
                   {"error", nullptr},
                   {"incomplete_details", nullptr},
                   {"output", std::move(output)},
                   {"usage", nullptr}};
  response.update(turn_->repeated);
  return response;
}

Json ResponsesReply::ended_response(const Usage& usage) const {
  auto ended = response(is_cut_ ? "incomplete" : "completed", output_.items());
  if (is_cut_) ended["incomplete_details"] = {{"reason", "max_output_tokens"}};
  ended["usage"] = usage_of(usage);
  return ended;
}

// Once, whatever comes first.
void ResponsesReply::begin() {
  if (std::exchange(has_begun_, true)) return;
  tell("response.created", response("in_progress", Json::array()));
  tell("response.in_progress", response("in_progress", Json::array()));
}

std::string ResponsesReply::opening(std::uint32_t, const std::vector<TokenId>&) {
  begin();
  return events_.take();
}

std::string ResponsesReply::heartbeat() {
  if (has_begun_) tell("response.in_progress", response("in_progress", Json::array()));
  begin();
  return events_.take();
}

std::string ResponsesReply::piece(std::uint32_t, const ChoicePiece& piece) {
  output_.add_tokens(piece.tokens, piece.top_logprobs);
  for (const auto& part : piece.parts) output_.add(part);
  return events_.take();
}

void ResponsesReply::end_output(const ChoiceStream& ended) {
  is_cut_ = ended.finish() == FinishReason::length;
  output_.end(is_cut_);
}

std::string ResponsesReply::ending(std::uint32_t, const ChoiceStream& ended) {
  end_output(ended);
  return events_.take();
}

std::string ResponsesReply::done(const Usage& usage) {
  tell(is_cut_ ? "response.incomplete" : "response.completed", ended_response(usage));
  return events_.take();
}

std::string ResponsesReply::failure(const ApiError& error) {
  begin();
  auto failed = response("failed", output_.items());
  failed["error"] = {{"code", code_of(error)}, {"message", error.message}};
  tell("response.failed", std::move(failed));
  return events_.take();
}

std::string ResponsesReply::whole(const std::vector<ChoiceStream>& choices, const std::vector<TokenId>& prompt_ids) {
  const auto& ended = choices.front();
  output_.add_tokens(ended.tokens(), ended.top_logprobs());
  for (const auto& part : ended.parts()) output_.add(part);
  end_output(ended);
  Usage usage;
  usage.prompt_tokens = prompt_ids.size();
  usage.add(ended);
  return json_text(ended_response(usage));
}

void ResponsesReply::remember(ResponseStore& store) {
  if (!turn_->is_stored) return;
  std::vector<OutputItem> items;
  for (const auto& item : output_.items())
    items.push_back({item["id"].get<std::string>(), std::make_shared<const std::string>(json_text(item))});
  store.add(id_, turn_->previous_response_id, turn_->input, items);
}
}  // namespace

std::unique_ptr<ChatReply> OpenAiResponses::start_reply(ReplyOrigin origin, const ChatRequest& request) const {
  return std::make_unique<ResponsesReply>(origin, request);
}

ApiError OpenAiResponses::context_overflow(std::size_t prompt_tokens, std::uint32_t context_tokens_max) const {
  return prompt_too_long(prompt_tokens, context_tokens_max, "input", "messages");
}
}  // namespace corisco::gateway
