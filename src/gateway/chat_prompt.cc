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
}  // namespace

asio::awaitable<OrApiError<Prompt>> make_prompt(CallContext& context, const ChatRequest& request,
                                                const AttemptState* attempt) {
  const auto& parts = context.parts;
  const double now = attempt ? attempt->opening.opened_unix_seconds : parts.clock->unix_seconds();
  const auto size = request.messages_json.size() + request.tools_json.size();
  auto render = [chat_template = parts.chat_template, input = input_of(request, now)] {
    return chat_template->render(input);
  };
  auto rendered = co_await context.worker.run(size, std::move(render));
  if (!rendered.ok()) co_return from_error(rendered.error());
  const std::string rendering = std::move(rendered).value();

  Prompt prompt;
  if (attempt != nullptr) prompt.match = attempt->calls.find(rendering);
  prompt.tail_text = rendering.substr(prompt.match.text_bytes);
  auto encode = [tokenizer = parts.tokenizer, tail = prompt.tail_text] {
    return tokenizer->encode(tail, true);
  };
  auto encoded = co_await context.worker.run(prompt.tail_text.size(), std::move(encode));
  if (!encoded.ok()) co_return from_error(encoded.error());
  prompt.tail_ids = std::move(encoded).value();
  prompt.ids = prompt.match.ids;
  prompt.ids.insert(prompt.ids.end(), prompt.tail_ids.begin(), prompt.tail_ids.end());
  if (prompt.ids.empty()) co_return invalid_request("the messages render to an empty prompt", "messages");
  co_return prompt;
}
}  // namespace corisco::gateway
