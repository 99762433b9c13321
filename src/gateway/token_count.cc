#include "gateway/token_count.h"

#include <utility>

#include "gateway/anthropic_messages.h"
#include "gateway/chat_prompt.h"
#include "gateway/model_names.h"

namespace corisco::gateway {
namespace asio = boost::asio;
namespace {
asio::awaitable<OrApiError<std::size_t>> count(CallContext& context, Caller caller, RequestBody body) {
  const auto size = body.num_bytes();
  auto work = [body = std::move(body)] { return parse_anthropic_count(body, ChatLimits{}); };
  auto parsed = co_await context.worker.run(size, std::move(work));
  if (auto* error = std::get_if<ApiError>(&parsed)) co_return std::move(*error);
  auto request = std::move(std::get<ChatRequest>(parsed));
  if (auto unknown = unknown_model(context.parts.config->gateway, request.model)) co_return std::move(*unknown);
  request.role = role_of(context.parts.config->gateway, request.model);
  auto made = co_await make_prompt(context, request, caller.attempt.get());
  if (auto* error = std::get_if<ApiError>(&made)) co_return std::move(*error);
  co_return std::get<Prompt>(made).ids.size();
}
}  // namespace

asio::awaitable<void> count_tokens(CallContext& context, Caller caller, RequestBody body, ReplyWriter& reply) {
  const auto counted = co_await count(context, std::move(caller), std::move(body));
  Reply answer;
  if (const auto* error = std::get_if<ApiError>(&counted)) {
    context.metrics.refused(error->code);
    answer = error_reply(*error, ErrorShape::anthropic);
  } else {
    answer.body = cat("{\"input_tokens\":", std::get<std::size_t>(counted), "}");
  }
  co_await reply.whole(std::move(answer));
}
}  // namespace corisco::gateway
