#include "gateway/responses_tools.h"

#include <algorithm>
#include <array>
#include <utility>

#include "corisco/base/json.h"

namespace corisco::gateway {
namespace {
using MaybeError = std::optional<ApiError>;

std::string text_of(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const Json* member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

MaybeError lacks(const std::string& where, const char* what) {
  return invalid_request(cat("'", where, "' needs ", what), where);
}

Json schema(Json properties, Json required) {
  return {{"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}};
}
Json of_type(const char* type) { return {{"type", type}}; }
Json texts() { return {{"type", "array"}, {"items", of_type("string")}}; }

Json local_shell_parameters() {
  return schema({{"command", texts()},
                 {"working_directory", of_type("string")},
                 {"timeout_ms", of_type("integer")},
                 {"env", of_type("object")}},
                Json::array({"command"}));
}
Json shell_parameters() {
  return schema({{"commands", texts()}, {"timeout_ms", of_type("integer")}, {"max_output_length", of_type("integer")}},
                Json::array({"commands"}));
}
Json apply_patch_parameters() {
  Json type = of_type("string");
  type["enum"] = Json::array({"create_file", "update_file", "delete_file"});
  return schema({{"type", std::move(type)}, {"path", of_type("string")}, {"diff", of_type("string")}},
                Json::array({"type", "path"}));
}

// The syntax that the input must have can only be told to the model.
Json custom_parameters(const Json& tool) {
  Json input = of_type("string");
  const auto* format = member(tool, "format");
  if (format != nullptr && format->is_object() && text_of(*format, "type") == "grammar")
    input["description"] = cat("In the language of this ", text_of(*format, "syntax"), " grammar:\n",
                               text_of(*format, "definition"));
  return schema({{"input", std::move(input)}}, Json::array({"input"}));
}

bool is_run_by_openai(const std::string& type) {
  for (const auto* prefix : {"web_search", "file_search", "code_interpreter", "computer", "image_generation", "mcp",
                             "tool_search", "programmatic_tool_calling"})
    if (starts_with(type, prefix)) return true;
  return false;
}

// A shell in a container of OpenAI's.
bool is_hosted_shell(const Json& tool) {
  const auto* environment = member(tool, "environment");
  return environment != nullptr && environment->is_object() && starts_with(text_of(*environment, "type"), "container");
}

// Tools that are known by their type alone.
struct BuiltIn {
  const char* type;
  ToolForm form;
  const char* description;
  Json (*parameters)();
};
constexpr std::array kBuiltIns = {
    BuiltIn{"local_shell", ToolForm::local_shell, "Runs a program with its arguments.", local_shell_parameters},
    BuiltIn{"shell", ToolForm::shell, "Runs shell commands, one after another.", shell_parameters},
    BuiltIn{"apply_patch", ToolForm::apply_patch, "Creates, changes or deletes a file.", apply_patch_parameters},
};

bool are_texts(const Json* value) {
  return value != nullptr && value->is_array() && !value->empty() &&
         std::all_of(value->begin(), value->end(), [](const Json& text) { return text.is_string(); });
}
}  // namespace

const ResponsesTool* ResponsesTools::find(std::string_view native_name) const {
  const auto found = std::find_if(tools_.begin(), tools_.end(),
                                  [&](const auto& tool) { return tool.native_name == native_name; });
  return found == tools_.end() ? nullptr : &*found;
}

std::string ResponsesTools::native_name(ToolForm form, const std::string& name, const std::string& name_space) const {
  for (const auto& tool : tools_)
    if (tool.form == form && tool.name == name && tool.name_space == name_space) return tool.native_name;
  for (const auto& built_in : kBuiltIns)
    if (built_in.form == form) return built_in.type;
  return name_space.empty() ? name : cat(name_space, "__", name);
}

void ResponsesTools::add(ResponsesTool tool, std::string description, Json parameters, Json& native) {
  const auto wanted = native_name(tool.form, tool.name, tool.name_space);
  tool.native_name = wanted;
  for (int n = 2; find(tool.native_name) != nullptr; ++n) tool.native_name = cat(wanted, "_", n);
  Json function = {{"name", tool.native_name}};
  if (!description.empty()) function["description"] = std::move(description);
  function["parameters"] = std::move(parameters);
  native.push_back({{"type", "function"}, {"function", std::move(function)}});
  tools_.push_back(std::move(tool));
}

MaybeError ResponsesTools::read_namespace(const Json& tool, const std::string& where, Json& native) {
  const auto name = text_of(tool, "name");
  const auto* inner = member(tool, "tools");
  if (name.empty()) return lacks(where, "a name");
  if (inner == nullptr || !inner->is_array()) return lacks(cat(where, ".tools"), "to be a list");
  for (std::size_t i = 0; i < inner->size(); ++i)
    if (auto error = read_one((*inner)[i], cat(where, ".tools[", i, "]"), name, native)) return error;
  return std::nullopt;
}

MaybeError ResponsesTools::read_one(const Json& tool, const std::string& where, const std::string& name_space,
                                    Json& native) {
  if (!tool.is_object()) return lacks(where, "to be an object");
  const auto type = text_of(tool, "type");
  if (is_run_by_openai(type) || (type == "shell" && is_hosted_shell(tool))) {
    ++num_left_out_;
    return std::nullopt;
  }
  if (type == "namespace" && name_space.empty()) return read_namespace(tool, where, native);
  if (tools_.size() == tools_max_)
    return invalid_request(cat("'tools' holds more than ", tools_max_, " of them"), "tools");
  for (const auto& built_in : kBuiltIns) {
    if (type != built_in.type) continue;
    add({{}, built_in.form, {}, {}, false}, built_in.description, built_in.parameters(), native);
    return std::nullopt;
  }
  if (type == "function" || type == "custom") return read_named(tool, type, where, name_space, native);
  return invalid_request(cat("'", where, "' is of a type that is not known here; send it as a function"), where,
                         "unsupported_tool");
}

MaybeError ResponsesTools::read_named(const Json& tool, const std::string& type, const std::string& where,
                                      const std::string& name_space, Json& native) {
  // As chat completions nest it.
  const auto* nested = member(tool, "function");
  const auto& said = nested != nullptr && nested->is_object() ? *nested : tool;
  const auto name = text_of(said, "name");
  if (name.empty()) return lacks(where, "a name");
  const auto* parameters = member(said, "parameters");
  if (parameters != nullptr && !parameters->is_object()) return lacks(cat(where, ".parameters"), "to be an object");
  const bool is_custom = type == "custom";
  const Json none = {{"type", "object"}, {"properties", Json::object()}};
  const auto* strict = member(said, "strict");
  const bool is_strict = !is_custom && strict != nullptr && *strict == true;
  const auto form = is_custom ? ToolForm::custom : ToolForm::function;
  add({{}, form, name, name_space, is_strict}, text_of(said, "description"),
      is_custom ? custom_parameters(said) : parameters == nullptr ? none : *parameters, native);
  return std::nullopt;
}

MaybeError ResponsesTools::read(const Json& tools, Json& native) {
  for (std::size_t i = 0; i < tools.size(); ++i)
    if (auto error = read_one(tools[i], cat("tools[", i, "]"), {}, native)) return error;
  return std::nullopt;
}

std::vector<std::string> ResponsesTools::strict_names() const {
  std::vector<std::string> names;
  for (const auto& tool : tools_)
    if (tool.is_strict) names.push_back(tool.native_name);
  return names;
}

std::string arguments_of_input(const std::string& custom_input) {
  const Json arguments = {{"input", custom_input}};
  return json_text(arguments);
}

std::string input_of_arguments(const std::string& arguments) {
  const auto parsed = parse_ordered_json(arguments);
  const auto* input = parsed.is_object() ? member(parsed, "input") : nullptr;
  return input != nullptr && input->is_string() ? input->get<std::string>() : arguments;
}

// What says nothing is left out, so that a call that came from a model has the arguments it had.
std::string arguments_of_action(const Json& action) {
  Json arguments = Json::object();
  for (const auto& [name, value] : action.items()) {
    const bool is_form_name = name == "type" && value == "exec";
    if (!is_form_name && !value.is_null() && value != Json::object()) arguments[name] = value;
  }
  return json_text(arguments);
}

std::optional<Json> action_of_arguments(ToolForm form, const std::string& arguments) {
  auto parsed = parse_json_object(arguments);   // as deep as a request may be
  if (std::holds_alternative<ApiError>(parsed)) return std::nullopt;
  auto action = std::move(std::get<Json>(parsed));
  if (form == ToolForm::shell) return are_texts(member(action, "commands")) ? std::optional(action) : std::nullopt;
  if (form == ToolForm::apply_patch)
    return text_of(action, "path").empty() || text_of(action, "type").empty() ? std::nullopt : std::optional(action);
  if (!are_texts(member(action, "command"))) return std::nullopt;
  action["type"] = "exec";
  if (member(action, "env") == nullptr) action["env"] = Json::object();
  return action;
}
}  // namespace corisco::gateway
