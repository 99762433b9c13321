#include "gateway/chat_prompt.h"

#include <algorithm>
#include <utility>

#include "gateway/continuation_search.h"

namespace corisco::gateway {
namespace asio = boost::asio;
namespace {
constexpr std::size_t kSharedWithMax = 4;   // earlier calls that a prompt encoded anew is compared with

text::ChatInput input_of(const ChatRequest& request, std::string messages_json, double now_unix_seconds) {
  text::ChatInput input;
  input.messages_json = std::move(messages_json);
  input.tools_json = request.tools_json;
  input.kwargs_json = request.template_kwargs_json;
  input.add_generation_prompt = request.adds_generation_prompt;
  input.now_unix_seconds = now_unix_seconds;
  return input;
}

// What keeps special tokens' texts in messages text; null where they are control tokens.
const LiteralText* literal_text_of(const CallContext& context, const ChatRequest& request) {
  const bool are_control = context.parts.config->gateway.control_tokens_in_text || request.is_completion();
  return are_control ? nullptr : &context.literal_text;
}

// messages_json: the request's, or those with replies as they were.
asio::awaitable<Result<std::string>> rendering_of(CallContext& context, const ChatRequest& request,
                                                  std::string messages_json, double now) {
  const auto size = messages_json.size() + request.tools_json.size();
  const auto& folding = context.folding;
  const auto& roles = request.tools_json.empty() ? folding.without_tools : folding.with_tools;
  auto render = [chat_template = context.parts.chat_template, roles, literal_text = literal_text_of(context, request),
                 input = input_of(request, std::move(messages_json), now)]() mutable {
    input.messages_json = fold_messages(std::move(input.messages_json), roles);
    if (literal_text != nullptr) input = literal_text->marked(std::move(input));
    return chat_template->render(input);
  };
  auto rendered = co_await context.worker.run(size, std::move(render));
  co_return rendered;
}

void append(std::vector<TokenId>& ids, const std::vector<TokenId>& more) {
  ids.insert(ids.end(), more.begin(), more.end());
}

// A rendering, and what of the attempt it goes on from.
struct Text {
  std::string text;                      // of messages: with LiteralText's marks
  Continued continued;
};

asio::awaitable<Text> continued_text(CallContext& context, const ChatRequest& request, std::string text,
                                     AttemptState* attempt) {
  Text made{std::move(text), {}};
  if (attempt != nullptr) made.continued = co_await find_continuation(context, *attempt, request, made.text);
  co_return made;
}

asio::awaitable<Restored> restored_messages(CallContext& context, const ChatRequest& request,
                                            const AttemptState* attempt, std::optional<std::vector<CallId>> only) {
  const auto& config = context.parts.config->gateway;
  if (attempt == nullptr || config.exact_serving) co_return Restored();
  const auto& stored = attempt->conversations_of(request).stored_replies;
  if (stored.empty()) co_return Restored();
  Restoring options{config.keep_reasoning, std::move(only)};
  auto work = [messages = request.messages_json, replies = stored, options = std::move(options)] {
    return restore_replies(messages, replies, options);
  };
  auto restored = co_await context.worker.run(request.messages_json.size(), std::move(work));
  co_return restored;
}

bool are_among(const std::vector<CallId>& some, const std::vector<CallId>& all) {
  return std::all_of(some.begin(), some.end(),
                     [&](CallId call) { return std::find(all.begin(), all.end(), call) != all.end(); });
}

// Replies that came back bent are rendered as they were if the prompt then goes on from them. One that it
// does not go on from stays as the client has it, and so do all if the template refuses what was restored.
asio::awaitable<OrApiError<Text>> text_of_messages(CallContext& context, const ChatRequest& request,
                                                   AttemptState* attempt) {
  const double now = attempt ? attempt->opening.opened_unix_seconds : context.parts.clock->unix_seconds();
  std::optional<std::vector<CallId>> only;
  for (int tries_left = 2; tries_left > 0; --tries_left) {
    const auto restored = co_await restored_messages(context, request, attempt, only);
    if (!restored.is_changed) break;
    auto rendered = co_await rendering_of(context, request, restored.messages_json, now);
    if (!rendered.ok()) break;
    auto made = co_await continued_text(context, request, std::move(rendered).value(), attempt);
    const auto& matched = made.continued.match.calls;
    if (are_among(restored.rewritten, matched)) {
      const bool is_first_time = !matched.empty() && are_among({matched.back()}, restored.rewritten);
      if (is_first_time) context.metrics.differs(Difference::arguments);
      co_return made;
    }
    only = matched;
  }
  auto rendered = co_await rendering_of(context, request, request.messages_json, now);
  if (!rendered.ok()) co_return from_error(rendered.error());
  auto made = co_await continued_text(context, request, std::move(rendered).value(), attempt);
  co_return made;
}

// Only what is told here of it is kept: the prompt's own ids go to the engine.
asio::awaitable<void> share_prompt(CallContext& context, const ChatRequest& request, const AttemptState* attempt,
                                   Prompt& prompt) {
  const auto stem = request.is_completion()
                        ? prompt.tail_text.size()
                        : stem_bytes(prompt.tail_text, context.parts.reply_syntax);
  prompt.turn_beginning = prompt.tail_text.substr(stem);
  NewPrompt made{prompt.ids, request.sent_messages_json, request.messages_json, prompt.tail_text.substr(0, stem)};
  std::vector<CallTree::Earlier> earlier;
  const auto* node = prompt.match.node;
  if (node != nullptr) earlier.push_back(attempt->conversations_of(request).calls.earlier(*node));
  else if (attempt != nullptr) earlier = attempt->conversations_of(request).calls.newest(kSharedWithMax, nullptr);
  const auto size = made.ids.size() * sizeof(TokenId) + made.request.size() + made.messages.size();
  auto work = [made = std::move(made), earlier = std::move(earlier), goes_on = node != nullptr]() mutable {
    return share(std::move(made), earlier, goes_on);
  };
  prompt.shared = co_await context.worker.run(size, std::move(work));
}

// own_prefix: ids whose text stands before the rest, where it goes on from nothing.
asio::awaitable<OrApiError<Prompt>> prompt_of_text(CallContext& context, const ChatRequest& request, Text made,
                                                   std::vector<TokenId> own_prefix) {
  const auto& tokenizer = context.parts.tokenizer;
  Prompt prompt;
  prompt.match = std::move(made.continued.match);
  prompt.split = made.continued.split;
  prompt.tail_text = made.text.substr(prompt.match.text_bytes);
  const bool is_new = prompt.match.node == nullptr;
  const auto encoded_from = is_new ? tokenizer->decode(own_prefix, true).size() : 0;
  auto encode = [tokenizer, literal_text = literal_text_of(context, request),
                 tail = prompt.tail_text.substr(encoded_from)]() mutable {
    if (literal_text == nullptr) return tokenizer->encode(tail, true);
    const auto unmarked = literal_text->unmarked(std::move(tail));
    return tokenizer->encode_rendering(unmarked.text, unmarked.literals);
  };
  auto encoded = co_await context.worker.run(prompt.tail_text.size(), std::move(encode));
  if (!encoded.ok()) co_return from_error(encoded.error());
  if (is_new) prompt.tail_ids = std::move(own_prefix);
  append(prompt.tail_ids, encoded.value());
  prompt.ids = prompt.match.ids.items();
  append(prompt.ids, prompt.tail_ids);
  co_return prompt;
}

std::optional<ApiError> unknown_id(const ChatRequest& request, std::size_t vocabulary_size) {
  const auto& ids = request.prompt_ids;
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || static_cast<std::size_t>(ids[i]) >= vocabulary_size)
      return invalid_request(cat("'", request.prompt_ids_name, "[", i, "]' is ", ids[i],
                                 ", but this model's token ids end at ", vocabulary_size - 1),
                             request.prompt_ids_name, "invalid_token_id");
  return std::nullopt;
}

asio::awaitable<OrApiError<Prompt>> prompt_of_ids(CallContext& context, const ChatRequest& request,
                                                  const AttemptState* attempt) {
  const auto& ids = request.prompt_ids;
  const auto& tokenizer = context.parts.tokenizer;
  if (auto error = unknown_id(request, tokenizer->vocabulary_size())) co_return std::move(*error);
  Prompt prompt;
  prompt.ids = ids;
  if (attempt != nullptr) {
    const auto& calls = attempt->conversations_of(request).calls;
    prompt.match = calls.find(std::span<const TokenId>(ids));
    const bool is_new = prompt.match.node == nullptr;
    if (is_new) prompt.split = calls.empty() ? SplitCause::first : SplitCause::new_conversation;
  }
  prompt.tail_ids.assign(ids.begin() + static_cast<std::ptrdiff_t>(prompt.match.ids.size()), ids.end());
  auto decode = [tokenizer, tail = prompt.tail_ids] { return tokenizer->decode(tail, true); };
  prompt.tail_text = co_await context.worker.run(prompt.tail_ids.size() * sizeof(TokenId), std::move(decode));
  co_return prompt;
}

asio::awaitable<OrApiError<Prompt>> prompt_of_request(CallContext& context, const ChatRequest& request,
                                                      AttemptState* attempt) {
  if (!request.prompt_ids.empty()) co_return co_await prompt_of_ids(context, request, attempt);
  std::vector<TokenId> own_prefix;
  if (!request.prompt_text) {
    auto made = co_await text_of_messages(context, request, attempt);
    if (auto* error = std::get_if<ApiError>(&made)) co_return std::move(*error);
    co_return co_await prompt_of_text(context, request, std::move(std::get<Text>(made)), std::move(own_prefix));
  }
  const auto& tokenizer = context.parts.tokenizer;
  if (request.adds_prompt_prefix) own_prefix = tokenizer->own_prefix();
  auto text = tokenizer->decode(own_prefix, true) + *request.prompt_text;
  auto made = co_await continued_text(context, request, std::move(text), attempt);
  co_return co_await prompt_of_text(context, request, std::move(made), std::move(own_prefix));
}
}  // namespace

asio::awaitable<OrApiError<Prompt>> make_prompt(CallContext& context, const ChatRequest& request,
                                                AttemptState* attempt) {
  auto made = co_await prompt_of_request(context, request, attempt);
  auto* prompt = std::get_if<Prompt>(&made);
  if (prompt == nullptr) co_return made;
  const char* what = request.prompt_text ? "prompt" : "messages";
  if (prompt->ids.empty()) co_return invalid_request(cat("'", what, "': no token is left of it"), what);
  co_await share_prompt(context, request, attempt, *prompt);
  co_return made;
}
}  // namespace corisco::gateway
