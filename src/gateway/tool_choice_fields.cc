// Whether a request forces calls, and of which tools.
#include <algorithm>

#include "corisco/base/json.h"
#include "gateway/openai_responses.h"
#include "gateway/reply_form_fields.h"

namespace corisco::gateway {
namespace {
constexpr const char* kField = "tool_choice";

std::string text_of(const Json& object, const char* name) {
  const auto value = object.is_object() ? object.value(name, Json()) : Json();
  return value.is_string() ? value.get<std::string>() : std::string();
}

// Of OpenAI's form, which all tools are in once they are read.
std::vector<std::string> tool_names(const std::string& tools_json) {
  std::vector<std::string> names;
  if (tools_json.empty()) return names;
  for (const auto& tool : parse_ordered_json(tools_json)) {
    const auto function = tool.is_object() ? tool.value("function", Json()) : Json();
    if (auto name = text_of(function, "name"); !name.empty()) names.push_back(std::move(name));
  }
  return names;
}

void force(JsonFields& fields, std::vector<std::string> names, ChatRequest& request) {
  const auto known = tool_names(request.tools_json);
  if (known.empty()) fields.refuse(kField, "forces a call, but 'tools' has none that could be called");
  for (const auto& name : names)
    if (std::ranges::find(known, name) == known.end())
      fields.refuse(kField, "names a tool that is not among 'tools'");
  request.forced_call = {true, std::move(names), kField};
}

void refuse_form(JsonFields& fields) {
  fields.refuse(kField, "with this value is not supported; send auto, none, required or one tool",
                "unsupported_parameter");
}

// {"mode": "required", "tools": [...]}. name_of: of one of them; empty: it is no tool.
template <class NameOf>
void force_allowed(JsonFields& fields, const Json& allowed, NameOf name_of, ChatRequest& request) {
  std::vector<std::string> names;
  const auto tools = allowed.is_object() ? allowed.value("tools", Json()) : Json();
  for (const auto& tool : tools) names.push_back(name_of(tool));
  const bool are_named = tools.is_array() && !names.empty() && std::ranges::count(names, "") == 0;
  if (text_of(allowed, "mode") != "required" || !are_named) return refuse_form(fields);
  force(fields, std::move(names), request);
}

bool is_free_word(const Json& choice) { return choice == "auto" || choice == "none"; }
}  // namespace

void read_chat_tool_choice(JsonFields& fields, ChatRequest& request) {
  request.allows_several_calls = fields.flag("parallel_tool_calls", true);
  const auto* choice = fields.find(kField);
  if (choice == nullptr || is_free_word(*choice)) return;
  if (*choice == "required") return force(fields, {}, request);
  const auto name_of = [](const Json& tool) {
    const bool is_function = text_of(tool, "type") == "function";
    return is_function ? text_of(tool.value("function", Json()), "name") : std::string();
  };
  if (text_of(*choice, "type") == "allowed_tools")
    return force_allowed(fields, choice->value("allowed_tools", Json()), name_of, request);
  const auto name = name_of(*choice);
  if (name.empty()) return refuse_form(fields);
  force(fields, {name}, request);
}

void read_responses_tool_choice(JsonFields& fields, ChatRequest& request) {
  request.allows_several_calls = fields.flag("parallel_tool_calls", true);
  const auto* choice = fields.find(kField);
  if (choice == nullptr || is_free_word(*choice)) return;
  if (*choice == "required") return force(fields, {}, request);
  const auto& tools = request.responses->tools;
  const auto name_of = [&tools](const Json& tool) {
    const auto type = text_of(tool, "type");
    const auto name = text_of(tool, "name");
    const bool is_named = type == "function" || type == "custom";
    const auto form = type == "custom" ? ToolForm::custom : ToolForm::function;
    if (is_named) return name.empty() ? name : tools.native_name(form, name, text_of(tool, "namespace"));
    for (const auto built_in : {ToolForm::local_shell, ToolForm::shell, ToolForm::apply_patch})
      if (tools.native_name(built_in, {}, {}) == type) return type;
    return std::string();
  };
  if (text_of(*choice, "type") == "allowed_tools") return force_allowed(fields, *choice, name_of, request);
  const auto name = name_of(*choice);
  if (name.empty()) return refuse_form(fields);
  force(fields, {name}, request);
}

void read_anthropic_tool_choice(JsonFields& fields, ChatRequest& request) {
  const auto* choice = fields.find(kField);
  if (choice == nullptr) return;
  const auto type = text_of(*choice, "type");
  if (choice->is_object()) {
    JsonFields inner(*choice);
    request.allows_several_calls = !inner.flag("disable_parallel_tool_use", false);
    if (inner.problem()) fields.refuse("tool_choice.disable_parallel_tool_use", "must be true or false");
  }
  if (type == "auto" || type == "none") return;
  if (type == "any") return force(fields, {}, request);
  const auto name = type == "tool" ? text_of(*choice, "name") : std::string();
  if (name.empty()) return refuse_form(fields);
  force(fields, {name}, request);
}
}  // namespace corisco::gateway
