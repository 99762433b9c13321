#include "gateway/tool_calls/tool_schemas.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace corisco::gateway::tool_calls {
namespace {
using Json = nlohmann::ordered_json;
constexpr int kDepthMax = 8;             // of unions and references in each other

std::string text_of(const Json* value) {
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

void add_named(const Json& type, ValueTypes& types) {
  if (type == "string") types.string = true;
  if (type == "integer" || type == "number") types.number = true;
  if (type == "boolean") types.boolean = true;
  if (type == "object") types.object = true;
  if (type == "array") types.array = true;
  if (type == "null") types.null = true;
}

void add_value(const Json& value, ValueTypes& types) {
  types.string |= value.is_string();
  types.number |= value.is_number();
  types.boolean |= value.is_boolean();
  types.object |= value.is_object();
  types.array |= value.is_array();
  types.null |= value.is_null();
}

}  // namespace

const Json* member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

bool is_required(const Json& schema, const std::string& property) {
  const auto* required = member(schema, "required");
  return required != nullptr && required->is_array() &&
         std::find(required->begin(), required->end(), property) != required->end();
}

const Json* referenced(const Json& root, const Json& schema) {
  const auto reference = text_of(member(schema, "$ref"));
  for (const std::string folder : {"$defs", "definitions"}) {
    const auto prefix = "#/" + folder + "/";
    const auto* definitions = member(root, folder.c_str());
    if (definitions == nullptr || reference.rfind(prefix, 0) != 0) continue;
    return member(*definitions, reference.substr(prefix.size()).c_str());
  }
  return nullptr;
}

namespace {
void add_types(const Json& root, const Json& schema, int depth, ValueTypes& types) {
  if (depth == kDepthMax) return;
  if (const auto* type = member(schema, "type")) {
    if (type->is_array())
      for (const auto& one : *type) add_named(one, types);
    else
      add_named(*type, types);
    if (schema.value("nullable", Json()) == true) types.null = true;
    return;
  }
  if (const auto* target = referenced(root, schema)) add_types(root, *target, depth + 1, types);
  for (const char* name : {"anyOf", "oneOf", "allOf"})
    if (const auto* parts = member(schema, name); parts != nullptr && parts->is_array())
      for (const auto& part : *parts) add_types(root, part, depth + 1, types);
  if (const auto* values = member(schema, "enum"); values != nullptr && values->is_array())
    for (const auto& value : *values) add_value(value, types);
  if (const auto* value = member(schema, "const")) add_value(*value, types);
}
}  // namespace

ToolSchemas::ToolSchemas(const Json& tools) {
  if (!tools.is_array()) return;
  for (const auto& tool : tools) {
    const auto* function = member(tool, "function");
    if (function == nullptr) function = &tool;
    const auto name = text_of(member(*function, "name"));
    if (!name.empty()) tools_.push_back(name);
    const auto* schema = member(*function, "parameters");
    if (schema == nullptr) schema = member(*function, "input_schema");
    const auto* properties = schema == nullptr ? nullptr : member(*schema, "properties");
    if (properties == nullptr || !properties->is_object()) continue;
    for (const auto& [parameter, property] : properties->items())
      add_types(*schema, property, 0, types_[{name, parameter}]);
  }
}

std::string ToolSchemas::tool_with(const std::vector<std::string>& parameters) const {
  if (tools_.size() == 1) return tools_.front();
  std::string found;
  for (const auto& tool : tools_) {
    const bool has_all = std::all_of(parameters.begin(), parameters.end(), [&](const auto& parameter) {
      return types_.contains({tool, parameter});
    });
    if (has_all && !found.empty()) return {};
    if (has_all) found = tool;
  }
  return found;
}

ValueTypes ToolSchemas::types(std::string_view tool, std::string_view parameter) const {
  const auto found = types_.find({std::string(tool), std::string(parameter)});
  return found == types_.end() ? ValueTypes() : found->second;
}
}  // namespace corisco::gateway::tool_calls
