#include "gateway/history_restore.h"

#include <algorithm>
#include <map>
#include <utility>

#include "corisco/base/json.h"
#include "gateway/openai_responses.h"
#include "gateway/reply_meaning.h"

namespace corisco::gateway {
namespace {
using Kind = tool_calls::Event::Kind;

std::string text_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// What arguments become on their way to a Responses client and back.
std::string round_trip(const ResponsesTool& tool, const std::string& arguments) {
  if (tool.form == ToolForm::function) return arguments;
  if (tool.form == ToolForm::custom) return arguments_of_input(input_of_arguments(arguments));
  const auto action = action_of_arguments(tool.form, arguments);
  return action ? arguments_of_action(*action) : arguments;
}

void note_round_trip(StoredCall& call, const ChatRequest& request) {
  const auto* tool = request.responses == nullptr ? nullptr : request.responses->tools.find(call.name);
  if (tool == nullptr || call.is_broken) return;
  auto returned = round_trip(*tool, call.arguments);
  if (!is_same_json(returned, call.arguments)) call.returns_as = std::move(returned);
}

class Restorer {
 public:
  Restorer(const StoredReplies& replies, const Restoring& options) : options_(options) {
    for (const auto& reply : replies) {
      for (const auto& call : reply->calls) note(by_call_, call.id, reply.get());
      if (!reply->calls.empty() || reply->reasoning.empty()) continue;
      note(by_text_, std::string(trim(reply->text)), reply.get());
    }
  }
  // An assistant's message, in place.
  void take(Json& message, Restored& restored) {
    const auto* reply = reply_of(message);
    if (reply == nullptr) return;
    if (may_rewrite(*reply) && rewrite(message, *reply)) {
      restored.rewritten.push_back(reply->call);
      restored.is_changed = true;
    }
    if (options_.keeps_reasoning && !reply->reasoning.empty() && !has_reasoning(message)) {
      message["reasoning_content"] = reply->reasoning;
      restored.is_changed = true;
    }
  }

 private:
  using Replies = std::map<std::string, const StoredReply*>;

  // Of two under one name it cannot be told which is meant: texts may be alike, and so may ids that a model
  // has made.
  static void note(Replies& replies, std::string name, const StoredReply* reply) {
    const auto [place, is_new] = replies.emplace(std::move(name), reply);
    if (!is_new && place->second != reply) place->second = nullptr;
  }
  bool may_rewrite(const StoredReply& reply) const {
    if (!reply.comes_back_otherwise()) return false;
    const auto& only = options_.only;
    return !only || std::find(only->begin(), only->end(), reply.call) != only->end();
  }
  static bool has_reasoning(const Json& message) {
    for (const char* name : {"reasoning_content", "reasoning", "thinking"})
      if (!trim(text_of(message, name)).empty()) return true;
    return false;
  }
  static const StoredCall* stored_call(const StoredReply& reply, const Json& call) {
    const auto id = call.is_object() ? text_of(call, "id") : std::string();
    for (const auto& stored : reply.calls)
      if (stored.id == id) return &stored;
    return nullptr;
  }
  const StoredReply* reply_of(const Json& message) const {
    const auto calls = message.find("tool_calls");
    if (calls == message.end() || !calls->is_array() || calls->empty()) {
      const auto found = by_text_.find(std::string(trim(text_of(message, "content"))));
      return found == by_text_.end() ? nullptr : found->second;
    }
    const auto& first = calls->front();
    const auto found = by_call_.find(first.is_object() ? text_of(first, "id") : std::string());
    return found == by_call_.end() ? nullptr : found->second;
  }
  static bool rewrite(Json& message, const StoredReply& reply);
  static bool restore_call(Json& call, const StoredCall& stored);

  const Restoring& options_;
  Replies by_call_, by_text_;
};

bool Restorer::restore_call(Json& call, const StoredCall& stored) {
  if (stored.returns_as.empty() || !call.contains("function") || !call["function"].is_object()) return false;
  auto& arguments = call["function"]["arguments"];
  const auto returned = arguments.is_string() ? arguments.get<std::string>() : json_text(arguments);
  if (!is_same_json(returned, stored.returns_as)) return false;
  arguments = stored.arguments;
  return true;
}

// Nothing if the client has changed the text, or has put calls of others among ours.
bool Restorer::rewrite(Json& message, const StoredReply& reply) {
  const auto content = text_of(message, "content");
  const auto text = trim(content);
  if (text != trim(reply.shown_text) && text != trim(reply.text)) return false;
  Json calls = Json::array();
  bool is_changed = false, has_broken = false;
  for (auto call : message["tool_calls"]) {
    const auto* stored = stored_call(reply, call);
    if (stored == nullptr) return false;
    has_broken |= stored->is_broken;
    if (stored->is_broken) continue;
    is_changed |= restore_call(call, *stored);
    calls.push_back(std::move(call));
  }
  if (has_broken) message["content"] = reply.text;
  if (calls.empty()) message.erase("tool_calls");
  else message["tool_calls"] = std::move(calls);
  return is_changed || has_broken;
}
}  // namespace

bool StoredReply::comes_back_otherwise() const {
  return std::any_of(calls.begin(), calls.end(),
                     [](const auto& one) { return one.is_broken || !one.returns_as.empty(); });
}

StoredReply stored_reply(CallId call, const ChoiceStream& choice, const ChatRequest& request) {
  StoredReply reply;
  reply.call = call;
  for (const auto& part : choice.parts()) {
    switch (part.kind) {
      case Kind::text:
        reply.text += part.text;
        if (!part.is_broken) reply.shown_text += part.text;
        break;
      case Kind::reasoning: reply.reasoning += part.text; break;
      case Kind::call_begin: reply.calls.push_back({part.call_id, part.text, {}, false, {}}); break;
      case Kind::arguments: reply.calls.back().arguments += part.text; break;
      case Kind::call_end: reply.calls.back().is_broken = part.is_broken; break;
      case Kind::parse_error: break;
    }
  }
  for (auto& one : reply.calls) note_round_trip(one, request);
  return reply;
}

Restored restore_replies(const std::string& messages_json, const StoredReplies& replies, const Restoring& options) {
  Restored restored;
  Restorer restorer(replies, options);
  auto messages = parse_ordered_json(messages_json);
  if (!messages.is_array()) return restored;
  for (auto& message : messages)
    if (message.is_object() && text_of(message, "role") == "assistant") restorer.take(message, restored);
  if (restored.is_changed) restored.messages_json = json_text(messages);
  return restored;
}
}  // namespace corisco::gateway
