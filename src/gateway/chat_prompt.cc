#include "gateway/chat_prompt.h"

#include <utility>

namespace corisco::gateway {
namespace asio = boost::asio;
namespace {
text::ChatInput input_of(const ChatRequest& request, double now_unix_seconds) {
  text::ChatInput input;
  input.messages_json = request.messages_json;
  input.tools_json = request.tools_json;
  input.kwargs_json = request.template_kwargs_json;
  input.add_generation_prompt = request.adds_generation_prompt;
  input.now_unix_seconds = now_unix_seconds;
  return input;
}

asio::awaitable<Result<std::string>> rendering_of(CallContext& context, const ChatRequest& request, double now) {
  const auto size = request.messages_json.size() + request.tools_json.size();
  const auto& folding = context.folding;
  const auto& roles = request.tools_json.empty() ? folding.without_tools : folding.with_tools;
  auto render = [chat_template = context.parts.chat_template, roles, input = input_of(request, now)]() mutable {
    input.messages_json = fold_messages(std::move(input.messages_json), roles);
    return chat_template->render(input);
  };
  auto rendered = co_await context.worker.run(size, std::move(render));
  co_return rendered;
}

void append(std::vector<TokenId>& ids, const std::vector<TokenId>& more) {
  ids.insert(ids.end(), more.begin(), more.end());
}

// own_prefix: ids that stand before the text where it goes on from nothing.
asio::awaitable<OrApiError<Prompt>> prompt_of_text(CallContext& context, std::string text,
                                                   std::vector<TokenId> own_prefix, const AttemptState* attempt) {
  const auto& tokenizer = context.parts.tokenizer;
  const auto prefix_text = tokenizer->decode(own_prefix, true);
  text.insert(0, prefix_text);
  Prompt prompt;
  if (attempt != nullptr) prompt.match = attempt->calls.find(std::string_view(text));
  prompt.tail_text = text.substr(prompt.match.text_bytes);
  const bool is_new = prompt.match.node == nullptr;
  const auto encoded_from = is_new ? prefix_text.size() : 0;
  auto encode = [tokenizer, tail = prompt.tail_text.substr(encoded_from)] { return tokenizer->encode(tail, true); };
  auto encoded = co_await context.worker.run(prompt.tail_text.size(), std::move(encode));
  if (!encoded.ok()) co_return from_error(encoded.error());
  if (is_new) prompt.tail_ids = std::move(own_prefix);
  append(prompt.tail_ids, encoded.value());
  prompt.ids = prompt.match.ids;
  append(prompt.ids, prompt.tail_ids);
  co_return prompt;
}

std::optional<ApiError> unknown_id(const std::vector<TokenId>& ids, std::size_t vocabulary_size) {
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || static_cast<std::size_t>(ids[i]) >= vocabulary_size)
      return invalid_request(cat("'prompt[", i, "]' is ", ids[i], ", but this model's token ids end at ",
                                 vocabulary_size - 1), "prompt", "invalid_token_id");
  return std::nullopt;
}

asio::awaitable<OrApiError<Prompt>> prompt_of_ids(CallContext& context, const std::vector<TokenId>& ids,
                                                  const AttemptState* attempt) {
  const auto& tokenizer = context.parts.tokenizer;
  if (auto error = unknown_id(ids, tokenizer->vocabulary_size())) co_return std::move(*error);
  Prompt prompt;
  prompt.ids = ids;
  if (attempt != nullptr) prompt.match = attempt->calls.find(std::span<const TokenId>(ids));
  prompt.tail_ids.assign(ids.begin() + static_cast<std::ptrdiff_t>(prompt.match.ids.size()), ids.end());
  auto decode = [tokenizer, tail = prompt.tail_ids] { return tokenizer->decode(tail, true); };
  prompt.tail_text = co_await context.worker.run(prompt.tail_ids.size() * sizeof(TokenId), std::move(decode));
  co_return prompt;
}
}  // namespace

asio::awaitable<OrApiError<Prompt>> make_prompt(CallContext& context, const ChatRequest& request,
                                                const AttemptState* attempt) {
  const auto& parts = context.parts;
  if (!request.prompt_ids.empty()) co_return co_await prompt_of_ids(context, request.prompt_ids, attempt);
  std::string text;
  std::vector<TokenId> own_prefix;
  if (request.prompt_text) {
    text = *request.prompt_text;
    if (request.adds_prompt_prefix) own_prefix = parts.tokenizer->own_prefix();
  } else {
    const double now = attempt ? attempt->opening.opened_unix_seconds : parts.clock->unix_seconds();
    auto rendered = co_await rendering_of(context, request, now);
    if (!rendered.ok()) co_return from_error(rendered.error());
    text = std::move(rendered).value();
  }
  auto made = co_await prompt_of_text(context, std::move(text), std::move(own_prefix), attempt);
  const auto* prompt = std::get_if<Prompt>(&made);
  if (prompt == nullptr || !prompt->ids.empty()) co_return made;
  const char* what = request.prompt_text ? "prompt" : "messages";
  co_return invalid_request(cat("'", what, "': no token is left of it"), what);
}
}  // namespace corisco::gateway
