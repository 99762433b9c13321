// What types the request's tools allow for each parameter, for formats that don't show it. Pure.
#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace corisco::gateway::tool_calls {
// All false: nothing is known.
struct ValueTypes {
  bool string = false;
  bool number = false;                   // integers too
  bool boolean = false;
  bool object = false;
  bool array = false;
  bool null = false;

  bool is_known() const { return string || number || boolean || object || array || null; }
  bool is_only_string() const { return string && !(number || boolean || object || array || null); }
};

// Null: it has no such member.
const nlohmann::ordered_json* member(const nlohmann::ordered_json& object, const char* name);
// Whether an object must have it, as the schema's list "required" says.
bool is_required(const nlohmann::ordered_json& schema, const std::string& property);
// What "$ref": "#/$defs/Name" of a schema means in the parameters' schema; null: nothing there.
const nlohmann::ordered_json* referenced(const nlohmann::ordered_json& root, const nlohmann::ordered_json& schema);

class ToolSchemas {
 public:
  // OpenAI's chat or Responses shape, or Anthropic's; what is no tool is passed over.
  explicit ToolSchemas(const nlohmann::ordered_json& tools);
  ValueTypes types(std::string_view tool, std::string_view parameter) const;
  // The one tool that can be meant by a call of which only the parameters are known: the only tool there
  // is, or the only one that has all of them. Empty if there is none such.
  std::string tool_with(const std::vector<std::string>& parameters) const;

 private:
  std::vector<std::string> tools_;
  std::map<std::pair<std::string, std::string>, ValueTypes> types_;
};
}  // namespace corisco::gateway::tool_calls
