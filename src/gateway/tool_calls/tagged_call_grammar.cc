#include "gateway/tool_calls/tagged_call_grammar.h"

#include <algorithm>

#include "corisco/base/strings.h"
#include "gateway/tool_calls/tool_schemas.h"

namespace corisco::gateway::tool_calls {
namespace {
using Json = nlohmann::ordered_json;

struct Tags {
  std::string key, key_end, value_begin, value_end;   // as the model writes them
  std::string between;                   // after an argument
  bool is_newline_markup = false;        // a newline at both ends of a value
  bool is_json_if_unknown = false;
};

const Json* member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

// The parameter's schema by itself: with the definitions that it may refer to.
Json alone(const Json& property, const Json& root) {
  if (!property.is_object()) return Json::object();
  Json schema = property;
  for (const char* name : {"$defs", "definitions"})
    if (const auto* definitions = member(root, name)) schema[name] = *definitions;
  return schema;
}

// The schema's own texts, if it has a list of them; else any text up to the tag.
std::string text_value(const Json& property, const Tags& tags, GrammarText& out) {
  const std::string newline = tags.is_newline_markup ? "\n" : "";
  std::vector<std::string> texts;
  const auto* values = member(property, "enum");
  if (values != nullptr && values->is_array())
    for (const auto& value : *values)
      if (value.is_string()) texts.push_back(out.literal(cat(newline, value.get<std::string>(), newline)));
  if (!texts.empty()) return cat("(", join(texts, " | "), ") ", out.marker(tags.value_end));
  const auto text = out.up_to(tags.value_end);
  return tags.is_newline_markup ? cat(out.literal(newline), " ", text) : text;
}

std::string argument(const CallableTool& tool, const ToolSchemas& schemas, const std::string& key,
                     const Json& property, const Tags& tags, GrammarText& out) {
  const auto types = schemas.types(tool.name, key);
  const bool is_text = types.string || (!types.is_known() && !tags.is_json_if_unknown);
  const auto newline = tags.is_newline_markup ? out.literal("\n") : std::string();
  auto value = is_text ? text_value(property, tags, out)
                       : cat(newline, " ", out.schema(alone(property, tool.parameters), tool.is_strict), " ", newline,
                             " ", out.marker(tags.value_end));
  const auto begin = tags.value_begin.empty() ? std::string() : out.marker(tags.value_begin);
  const auto between = tags.between.empty() ? std::string() : out.literal(tags.between);
  return cat(out.marker(tags.key), " ", out.literal(key), " ", out.marker(tags.key_end), " ", begin, " ", value, " ",
             between);
}

std::string arguments(const CallableTool& tool, const Tags& tags, GrammarText& out) {
  const Json declared = {{"name", tool.name}, {"parameters", tool.parameters}};
  const ToolSchemas schemas(Json::array({declared}));
  const auto* properties = member(tool.parameters, "properties");
  const auto* required = member(tool.parameters, "required");
  std::vector<std::string> list;
  if (properties == nullptr || !properties->is_object()) return {};
  for (const auto& [key, property] : properties->items()) {
    const bool is_required = required != nullptr && required->is_array() &&
                             std::find(required->begin(), required->end(), key) != required->end();
    list.push_back(cat("(", argument(tool, schemas, key, property, tags, out), ")", is_required ? "" : "?"));
  }
  return join(list, " ");
}
}  // namespace

std::string qwen3_coder_call(const std::vector<CallableTool>& tools, GrammarText& out) {
  const Tags tags{"<parameter=", ">", "", "</parameter>", "\n", true, false};
  std::vector<std::string> calls;
  for (const auto& tool : tools)
    calls.push_back(cat(out.literal(cat("\n<function=", tool.name, ">\n")), " ", arguments(tool, tags, out), " ",
                        out.literal("</function>\n"), " ", out.marker("</tool_call>")));
  return cat("(", join(calls, " | "), ")");
}

std::string glm_call(const std::vector<CallableTool>& tools, bool has_newlines, GrammarText& out) {
  const std::string newline = has_newlines ? "\n" : "";
  const Tags tags{"<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", newline, false, true};
  std::vector<std::string> calls;
  for (const auto& tool : tools)
    calls.push_back(cat(out.literal(tool.name + newline), " ", arguments(tool, tags, out), " ",
                        out.marker("</tool_call>")));
  return cat("(", join(calls, " | "), ")");
}
}  // namespace corisco::gateway::tool_calls
