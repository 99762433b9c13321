#include "gateway/split_cause.h"

#include <algorithm>
#include <tuple>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"

namespace corisco::gateway {
namespace {
using Json = nlohmann::json;
constexpr std::size_t kSummaryBytesMin = 24;   // a shorter reply is found in other texts by chance

struct Message {
  std::string role;
  std::string text;                      // without blanks at its ends
  bool has_reasoning = false;
  std::vector<MeantCall> calls;
  bool is_reply() const { return role == "assistant"; }
};

struct Messages {
  std::string system;                    // those in front
  std::vector<Message> rest;
};

std::string text_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

MeantCall call_of(const Json& call) {
  const auto function = call.is_object() ? call.find("function") : call.end();
  if (!call.is_object() || function == call.end() || !function->is_object()) return {};
  const auto arguments = function->find("arguments");
  if (arguments == function->end()) return {text_of(*function, "name"), {}};
  return {text_of(*function, "name"),
          arguments->is_string() ? arguments->get<std::string>() : json_text(*arguments)};
}

Message message_of(const Json& json) {
  Message message;
  if (!json.is_object()) return message;
  message.role = text_of(json, "role");
  message.text = trim(text_of(json, "content"));
  for (const char* name : {"reasoning_content", "reasoning", "thinking"})
    message.has_reasoning |= !trim(text_of(json, name)).empty();
  if (const auto calls = json.find("tool_calls"); calls != json.end() && calls->is_array())
    for (const auto& call : *calls) message.calls.push_back(call_of(call));
  return message;
}

Message message_of(const Meaning& reply) {
  Message message{"assistant", {}, !trim(reply.reasoning).empty(), reply.calls};
  for (const auto& text : reply.texts) message.text += text;
  message.text = std::string(trim(message.text));
  return message;
}

Messages read(std::string_view messages_json) {
  Messages messages;
  const auto list = parse_json(messages_json);
  if (!list.is_array()) return messages;
  for (const auto& json : list) {
    auto message = message_of(json);
    if (message.role == "system" && messages.rest.empty()) messages.system += message.text + "\n";
    else messages.rest.push_back(std::move(message));
  }
  return messages;
}

// Reasoning aside.
bool is_same(const Message& a, const Message& b) {
  const auto is_same_call = [](const MeantCall& x, const MeantCall& y) {
    return x.name == y.name && is_same_json(x.arguments, y.arguments);
  };
  return a.role == b.role && a.text == b.text &&
         std::equal(a.calls.begin(), a.calls.end(), b.calls.begin(), b.calls.end(), is_same_call);
}

std::size_t num_common(const Messages& a, const Messages& b) {
  const auto mismatch = std::mismatch(a.rest.begin(), a.rest.end(), b.rest.begin(), b.rest.end(), is_same);
  return static_cast<std::size_t>(mismatch.first - a.rest.begin());
}

bool is_among(const Message& message, const Messages& messages, std::size_t from) {
  return std::any_of(messages.rest.begin() + static_cast<std::ptrdiff_t>(std::min(from, messages.rest.size())),
                     messages.rest.end(), [&](const Message& other) { return is_same(message, other); });
}

// A message of the old history, too long to be one by chance or followed by the one that followed it.
bool is_kept(const Messages& request, std::size_t at, const Messages& old) {
  const auto &now = request.rest, &then = old.rest;
  for (std::size_t i = 0; i < then.size(); ++i) {
    if (!is_same(now[at], then[i])) continue;
    if (now[at].text.size() >= kSummaryBytesMin) return true;
    if (at + 1 < now.size() && i + 1 < then.size() && is_same(now[at + 1], then[i + 1])) return true;
  }
  return false;
}

// From here on, the history starts anew from what the policy wrote about the old one, or keeps some of its
// messages.
bool is_compacted(const Messages& request, std::size_t from, const std::vector<Messages>& earlier,
                  const std::vector<Meaning>& replies) {
  for (auto i = from; i < request.rest.size(); ++i) {
    const auto& message = request.rest[i];
    for (const auto& old : earlier)
      if (is_kept(request, i, old)) return true;
    if (message.is_reply()) continue;
    for (const auto& reply : replies)
      for (const auto& text : reply.texts) {
        const auto said = trim(text);
        if (said.size() >= kSummaryBytesMin && message.text.find(said) != std::string::npos) return true;
      }
  }
  return false;
}

bool has_reply(const Messages& messages, std::size_t from, std::size_t end) {
  for (auto i = from; i < std::min(end, messages.rest.size()); ++i)
    if (messages.rest[i].is_reply()) return true;
  return false;
}

// Other messages before any reply; what follows the first of them is not as it was.
bool starts_anew(const Messages& request, const Messages& old, std::size_t common) {
  const auto &now = request.rest, &then = old.rest;
  if (common == now.size() || common == then.size() || has_reply(old, 0, common + 1)) return false;
  const auto next = common + 1;
  const bool goes_on_alike = next < std::min(now.size(), then.size()) && is_same(now[next], then[next]);
  return !goes_on_alike;
}

// The same system prompt, tools and template arguments; common: how many messages are the same.
SplitCause cause_in_messages(const Messages& request, const Messages& old, std::size_t common, bool goes_on) {
  const auto& now = request.rest;
  if (common == now.size() && common < old.rest.size()) return SplitCause::history_dropped;
  if (common == now.size() || (common == old.rest.size() && now[common].is_reply())) {
    for (std::size_t i = 0; i < common; ++i)
      if (old.rest[i].has_reasoning && !now[i].has_reasoning) return SplitCause::reasoning_dropped;
    return SplitCause::template_changed;
  }
  // The earlier call's reply is not among the messages, nor anything in its place.
  if (common == old.rest.size()) return SplitCause::history_dropped;
  if (old.rest[common].is_reply())
    return now[common].is_reply() ? SplitCause::reply_changed : SplitCause::history_dropped;
  if (is_among(now[common], old, common + 1)) return SplitCause::history_dropped;
  if (goes_on && !has_reply(request, common, request.rest.size())) return SplitCause::none;
  return SplitCause::history_changed;
}
}  // namespace

SplitCause split_cause(const Conversation& request, const std::vector<CallTree::Earlier>& earlier,
                       const ReplyReader& reader) {
  const auto messages = read(request.messages_json);
  std::vector<Messages> old;
  for (const auto& call : earlier) old.push_back(read(call.messages.items()));
  std::size_t nearest = 0;
  const auto nearness = [&](std::size_t i) {
    const auto& call = earlier[i];
    return std::tuple(num_common(messages, old[i]), old[i].system == messages.system,
                      call.tools_hash == request.tools_hash);
  };
  for (std::size_t i = 1; i < old.size(); ++i)
    if (nearness(i) > nearness(nearest)) nearest = i;
  const auto common = num_common(messages, old[nearest]);
  if (!request.goes_on && starts_anew(messages, old[nearest], common)) {
    std::vector<std::string_view> turns;
    for (const auto& call : earlier) turns.push_back(call.turn);
    const auto replies = reader.read_all(turns);
    for (std::size_t i = 0; i < old.size(); ++i) old[i].rest.push_back(message_of(replies[i]));
    const bool is_compact = is_compacted(messages, common, old, replies);
    return is_compact ? SplitCause::history_dropped : SplitCause::new_conversation;
  }
  if (old[nearest].system != messages.system) return SplitCause::system_changed;
  if (earlier[nearest].tools_hash != request.tools_hash) return SplitCause::tools_changed;
  if (earlier[nearest].kwargs_hash != request.kwargs_hash) return SplitCause::template_changed;
  return cause_in_messages(messages, old[nearest], common, request.goes_on);
}

bool is_sent_back(const Conversation& request, const std::vector<CallTree::Earlier>& replied,
                  const ReplyReader& reader) {
  const auto messages = read(request.messages_json).rest;
  return std::any_of(replied.begin(), replied.end(), [&](const CallTree::Earlier& call) {
    const auto at = read(call.messages.items()).rest.size();
    return at < messages.size() && is_same(messages[at], message_of(reader.read(call.turn)));
  });
}
}  // namespace corisco::gateway
