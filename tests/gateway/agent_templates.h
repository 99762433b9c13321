// Chat templates as models have them, written out: ChatML with calls in Hermes' form, and one that shows
// reasoning only after the last user message, as Qwen3's does. What they print of arguments is Python's
// JSON, of whatever form they came in.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "corisco/text/chat_template.h"

namespace corisco::gateway::fakes {
// ", " and ": " between items, members in their order.
inline std::string python_json(const nlohmann::ordered_json& value) {
  std::string text;
  if (value.is_object()) {
    for (const auto& [name, member] : value.items())
      text += cat(text.empty() ? "" : ", ", json_text(nlohmann::ordered_json(name)), ": ", python_json(member));
    return cat("{", text, "}");
  }
  if (value.is_array()) {
    for (const auto& item : value) text += cat(text.empty() ? "" : ", ", python_json(item));
    return cat("[", text, "]");
  }
  return json_text(value);
}

class AgentTemplate final : public text::ChatTemplate {
 public:
  bool shows_reasoning = true;           // else never, as templates that know of none
  bool drops_earlier_reasoning = false;  // before the last user message
  bool refuses_tool_results_alone = false;   // one without a call before it
  bool shows_calls = true;               // else never, as SmolLM2's, which knows of none

  Result<std::string> render(const text::ChatInput& input) const override {
    const auto messages = parse_ordered_json(input.messages_json);
    std::size_t last_user = 0;
    for (std::size_t i = 0; i < messages.size(); ++i)
      if (messages[i]["role"] == "user") last_user = i;
    std::string text = input.tools_json.empty() ? "" : cat("<|start|>tools\n", input.tools_json, "<|end|>\n");
    for (std::size_t i = 0; i < messages.size(); ++i) {
      const bool is_alone = messages[i]["role"] == "tool" && !has_calls(messages, i);
      if (is_alone && refuses_tool_results_alone) return Error{Code::invalid_argument, "a result of no call"};
      text += message(messages[i], i > last_user || !drops_earlier_reasoning);
    }
    if (!input.add_generation_prompt) return text;
    return cat(text, "<|start|>assistant\n", thinking_beginning(input.kwargs_json));
  }

 private:
  using Json = nlohmann::ordered_json;
  static bool has_calls(const Json& messages, std::size_t before) {
    for (std::size_t i = 0; i < before; ++i)
      if (messages[i].contains("tool_calls")) return true;
    return false;
  }
  static std::string thinking_beginning(const std::string& kwargs_json) {
    if (kwargs_json.empty()) return {};
    const auto kwargs = parse_json(kwargs_json);
    if (kwargs.value("open_thinking", false)) return "<think>\n";
    return kwargs.value("enable_thinking", true) ? "" : "<think>\n\n</think>\n\n";
  }
  static std::string text_of(const Json& message, const char* name) {
    return message.contains(name) && message[name].is_string() ? message[name].get<std::string>() : std::string();
  }
  std::string message(const Json& message, bool is_recent) const {
    const auto role = text_of(message, "role");
    const auto content = text_of(message, "content");
    if (role == "tool") return cat("<|start|>user\n<tool_response>\n", content, "\n</tool_response><|end|>\n");
    if (role != "assistant") return cat("<|start|>", role, "\n", content, "<|end|>\n");
    std::string text = "<|start|>assistant\n";
    const auto reasoning = text_of(message, "reasoning_content");
    if (shows_reasoning && is_recent && !reasoning.empty())
      text += cat("<think>\n", trim(reasoning), "\n</think>\n\n");
    text += trim(content);
    const auto calls = shows_calls ? message.value("tool_calls", Json::array()) : Json::array();
    for (const auto& call : calls) text += call_text(call["function"], text);
    return text + "<|end|>\n";
  }
  static std::string call_text(const Json& function, const std::string& before) {
    auto arguments = function["arguments"];
    if (arguments.is_string()) {
      const auto parsed = parse_ordered_json(arguments.get<std::string>());
      if (parsed.is_object()) arguments = parsed;
    }
    return cat(ends_with(before, "\n") ? "" : "\n", "<tool_call>\n{\"name\": ", json_text(function["name"]),
               ", \"arguments\": ", python_json(arguments), "}\n</tool_call>");
  }
};
}  // namespace corisco::gateway::fakes
