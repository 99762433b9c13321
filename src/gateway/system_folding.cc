#include "gateway/system_folding.h"

#include <utility>
#include <vector>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"

namespace corisco::gateway {
namespace {
using Json = nlohmann::ordered_json;

// Small conversations, each message of one word that no template has.
class Probe {
 public:
  Probe(const text::ChatTemplate& chat_template, bool has_tools) : template_(chat_template) {
    if (has_tools) tools_json_ = R"([{"type":"function","function":{"name":"probe","description":"probe",)"
                                 R"("parameters":{"type":"object","properties":{}}}}])";
  }

  // Whether all of it shows, in its order. A "call" is an assistant's message that says nothing.
  bool takes(const std::vector<const char*>& roles) const {
    text::ChatInput input;
    Json messages = Json::array();
    for (std::size_t i = 0; i < roles.size(); ++i) messages.push_back(message(roles[i], word(i)));
    input.messages_json = json_text(messages);
    input.tools_json = tools_json_;
    const auto rendered = template_.render(input);
    if (!rendered.ok()) return false;
    for (std::size_t i = 0, at = 0; i < roles.size(); ++i) {
      if (roles[i] == std::string_view("call")) continue;
      at = rendered.value().find(word(i), at);
      if (at == std::string::npos) return false;
    }
    return true;
  }

 private:
  static std::string word(std::size_t index) { return cat("corisco-probe-", index); }

  // The id has nine letters and digits, which is what the strictest templates ask for.
  static Json message(std::string_view role, const std::string& text) {
    constexpr const char* kCallId = "probe0001";
    if (role == "tool")
      return {{"role", "tool"}, {"tool_call_id", kCallId}, {"name", "probe"}, {"content", text}};
    if (role != "call") return {{"role", role}, {"content", text}};
    const Json call = {{"id", kCallId},
                       {"type", "function"},
                       {"function", {{"name", "probe"}, {"arguments", Json::object()}}}};
    return {{"role", "assistant"}, {"content", ""}, {"tool_calls", Json::array({call})}};
  }

  const text::ChatTemplate& template_;
  std::string tools_json_;
};

bool is_role(const Json& message, std::string_view role) {
  const auto found = message.find("role");
  return found != message.end() && *found == role;
}

std::string content_of(const Json& message) {
  const auto found = message.find("content");
  return found != message.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void join_into(Json& earlier, const Json& later) {
  const auto before = content_of(earlier);
  const auto after = content_of(later);
  earlier["content"] = before.empty() || after.empty() ? before + after : cat(before, "\n\n", after);
}

// As json_text prints a system message's role; inside texts its quotes are escaped.
constexpr std::string_view kSystemRole = "\"role\":\"system\"";

bool needs_folding(std::string_view messages_json, const TemplateRoles& roles) {
  if (!roles.takes_users_in_a_row || !roles.takes_user_after_tool) return true;
  const auto first = messages_json.find(kSystemRole);
  if (first == std::string_view::npos) return false;
  if (roles.takes_system && roles.takes_leading_systems && roles.takes_later_systems) return false;
  const bool is_in_front = first == std::string_view("[{").size();
  const bool is_alone = messages_json.find(kSystemRole, first + 1) == std::string_view::npos;
  return !(roles.takes_system && is_in_front && is_alone);
}

class Folding {
 public:
  explicit Folding(const TemplateRoles& roles) : roles_(roles) {}

  void add(Json message) {
    const bool is_system = is_role(message, "system");
    is_leading_ = is_leading_ && is_system;
    if (is_system && is_leading_ && roles_.takes_system) {
      if (folded_.empty() || roles_.takes_leading_systems) folded_.push_back(std::move(message));
      else join_into(folded_.back(), message);
      return;
    }
    if (is_system && (is_leading_ || !roles_.takes_later_systems)) {
      message["role"] = "user";
      if (folded_.empty()) begins_with_folded_ = true;
    }
    if (joins_the_last(message)) join_into(folded_.back(), message);
    else folded_.push_back(std::move(message));
  }
  const Json& messages() const { return folded_; }

 private:
  bool joins_the_last(const Json& message) const {
    if (folded_.empty() || !is_role(message, "user")) return false;
    const auto& last = folded_.back();
    const bool is_in_front = begins_with_folded_ && folded_.size() == 1;
    if (is_role(last, "user")) return is_in_front || !roles_.takes_users_in_a_row;
    return is_role(last, "tool") && !roles_.takes_user_after_tool;
  }

  const TemplateRoles& roles_;
  Json folded_ = Json::array();
  bool is_leading_ = true;               // nothing but system messages so far
  bool begins_with_folded_ = false;      // its first message was a system's
};
}  // namespace

TemplateRoles roles_of(const text::ChatTemplate& chat_template, bool has_tools) {
  const Probe probe(chat_template, has_tools);
  TemplateRoles roles;
  if (!probe.takes({"user", "assistant", "user"})) return roles;
  roles.takes_system = probe.takes({"system", "user"});
  roles.takes_leading_systems = roles.takes_system && probe.takes({"system", "system", "user"});
  // At the end too, where agents put reminders.
  roles.takes_later_systems = probe.takes({"user", "assistant", "system", "user", "system"});
  roles.takes_users_in_a_row = probe.takes({"user", "user", "assistant", "user"});
  if (probe.takes({"user", "call", "tool"}))
    roles.takes_user_after_tool = probe.takes({"user", "call", "tool", "user"});
  return roles;
}

std::string fold_messages(std::string messages_json, const TemplateRoles& roles) {
  if (!needs_folding(messages_json, roles)) return messages_json;
  Folding folding(roles);
  for (auto& message : parse_ordered_json(messages_json)) folding.add(std::move(message));
  return json_text(folding.messages());
}
}  // namespace corisco::gateway
