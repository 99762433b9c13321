#include "gateway/remembered_reply.h"

#include <algorithm>
#include <utility>

#include "corisco/types/token_ids.h"

namespace corisco::gateway {
namespace {
bool is_among(const std::vector<TokenId>& ids, TokenId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

std::vector<std::string> tool_call_ids(const ChoiceStream& choice) {
  std::vector<std::string> ids;
  for (const auto& part : choice.parts())
    if (part.kind == tool_calls::Event::Kind::call_begin) ids.push_back(part.call_id);
  return ids;
}

CallTree::Earlier as_earlier(const Prompt& prompt, const ChatRequest& request, std::vector<TokenId> reply_ids,
                             CallId call) {
  CallTree::Earlier earlier;
  earlier.call = call;
  earlier.ids = SharedPrefix<TokenId>::extend(prompt.shared.ids, prompt.shared.ids.size(), std::move(reply_ids));
  earlier.request = prompt.shared.request;
  earlier.messages = prompt.shared.messages;
  earlier.tools_hash = hash_text(request.tools_json);
  earlier.kwargs_hash = hash_text(request.template_kwargs_json);
  return earlier;
}
}  // namespace

void remember_reply(const CallContext& context, AttemptState& attempt, Prompt& prompt, const ChatRequest& request,
                    const ChoiceStream& choice, CallId call) {
  const auto& parts = context.parts;
  auto reply_ids = token_ids(choice.tokens());
  CallTree::Added added;
  added.reply = parts.tokenizer->decode(reply_ids, true);
  const bool has_end = !reply_ids.empty() && is_among(parts.end_ids, reply_ids.back());
  if (has_end) {
    auto end = parts.tokenizer->decode({&reply_ids.back(), 1}, true);
    if (ends_with(added.reply, end)) added.reply_end = std::move(end);
  }
  const bool is_at_stop_id = !has_end && !reply_ids.empty() && is_among(request.stop_ids, reply_ids.back());
  added.is_cut = !choice.stop_string().empty() || is_at_stop_id;
  added.is_literal = request.is_completion();
  added.match = prompt.match;
  added.stem = prompt.shared.stem;
  added.turn_beginning = prompt.turn_beginning;
  added.tool_call_ids = tool_call_ids(choice);
  added.split = prompt.split;
  added.call = as_earlier(prompt, request, std::move(reply_ids), call);
  auto& conversations = attempt.conversations_of(request);
  conversations.calls.add(std::move(added));
  prompt.shared.note_recorded(call);
  auto stored = stored_reply(call, choice, request);
  if (stored.comes_back_otherwise() || parts.config->gateway.keep_reasoning)
    conversations.stored_replies.push_back(std::make_shared<const StoredReply>(std::move(stored)));
}
}  // namespace corisco::gateway
