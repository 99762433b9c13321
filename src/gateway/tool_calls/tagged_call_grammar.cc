#include "gateway/tool_calls/tagged_call_grammar.h"

#include "corisco/base/strings.h"
#include "gateway/tool_calls/tool_schemas.h"

namespace corisco::gateway::tool_calls {
namespace {
using Json = nlohmann::ordered_json;

// As the model writes them.
struct Tags {
  std::string key;
  std::string text_begin, json_begin;    // between a key and its value, which is any text, or JSON
  std::string value_end;
  std::string between = {};              // after an argument
  bool is_newline_markup = false;        // a newline at both ends of a value
  bool is_json_if_unknown = false;
  bool tells_text() const { return text_begin != json_begin; }
};

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
  GrammarText::Texts texts;
  const auto* values = member(property, "enum");
  if (values != nullptr && values->is_array())
    for (const auto& value : *values)
      if (value.is_string()) texts.push_back(out.literal(cat(newline, value.get<std::string>(), newline)));
  if (!texts.empty()) return cat(out.choice(texts), " ", out.written(tags.value_end));
  const auto text = out.up_to(tags.value_end);
  return tags.is_newline_markup ? cat(out.literal(newline), " ", text) : text;
}

std::string json_value(const CallableTool& tool, const Json& property, const Tags& tags, GrammarText& out) {
  const std::string newline = tags.is_newline_markup ? "\n" : "";
  const auto json = out.schema(alone(property, tool.parameters), tool.is_strict);
  return cat(out.literal(newline), " ", json, " ", out.written(newline + tags.value_end));
}

// What may be a string is any text, or also JSON where the tag tells which it is.
std::string argument(const CallableTool& tool, const ToolSchemas& schemas, const std::string& key,
                     const Json& property, const Tags& tags, GrammarText& out) {
  const auto types = schemas.types(tool.name, key);
  const bool is_text = types.string || (!types.is_known() && !tags.is_json_if_unknown);
  const bool is_json = !is_text || (tags.tells_text() && !types.is_only_string());
  GrammarText::Texts values;
  if (is_text) values.push_back(cat(out.written(tags.text_begin), " ", text_value(property, tags, out)));
  if (is_json) values.push_back(cat(out.written(tags.json_begin), " ", json_value(tool, property, tags, out)));
  return cat(out.written(tags.key), " ", out.literal(key), " ", out.choice(values), " ", out.written(tags.between));
}

std::string arguments(const CallableTool& tool, const Tags& tags, GrammarText& out) {
  const Json declared = {{"name", tool.name}, {"parameters", tool.parameters}};
  const ToolSchemas schemas(Json::array({declared}));
  const auto* properties = member(tool.parameters, "properties");
  std::vector<std::string> list;
  if (properties == nullptr || !properties->is_object()) return {};
  for (const auto& [key, property] : properties->items()) {
    const auto* times = is_required(tool.parameters, key) ? "" : "?";
    list.push_back(cat("(", argument(tool, schemas, key, property, tags, out), ")", times));
  }
  return join(list, " ");
}
}  // namespace

std::string qwen3_coder_call(const std::vector<CallableTool>& tools, GrammarText& out) {
  const Tags tags{"<parameter=", ">", ">", "</parameter>", "\n", true};
  GrammarText::Texts calls;
  for (const auto& tool : tools)
    calls.push_back(cat(out.literal(cat("\n<function=", tool.name, ">\n")), " ", arguments(tool, tags, out), " ",
                        out.written("</function>\n</tool_call>")));
  return out.choice(calls);
}

std::string glm_call(const std::vector<CallableTool>& tools, bool has_newlines, GrammarText& out) {
  const std::string newline = has_newlines ? "\n" : "";
  const std::string begin = cat("</arg_key>", newline, "<arg_value>");
  const Tags tags{"<arg_key>", begin, begin, "</arg_value>", newline, false, true};
  GrammarText::Texts calls;
  for (const auto& tool : tools)
    calls.push_back(cat(out.literal(tool.name + newline), " ", arguments(tool, tags, out), " ",
                        out.written("</tool_call>")));
  return out.choice(calls);
}

std::string dsml_call(const std::vector<CallableTool>& tools, GrammarText& out) {
  const Tags tags{"<｜DSML｜parameter name=\"", "\" string=\"true\">", "\" string=\"false\">", "</｜DSML｜parameter>",
                  "\n", false, true};
  GrammarText::Texts calls;
  for (const auto& tool : tools)
    calls.push_back(cat(out.written("<｜DSML｜invoke name=\""), " ", out.literal(tool.name), " ", out.literal("\">\n"),
                        " ", arguments(tool, tags, out), " ", out.written("</｜DSML｜invoke>\n")));
  return out.choice(calls);
}
}  // namespace corisco::gateway::tool_calls
