// The Responses API's tools as functions, which is all that templates and tool parsers know, and what
// each of them stands for, so that a call comes back in the form that its client waits for.
// Pure; .cc files of the edge include it.
//
//   {function f}                     f(its parameters)              function_call f
//   {namespace n: {function f}}      n__f(its parameters)           function_call f, namespace n
//   {custom c}                       c(input: string)               custom_tool_call c
//   {local_shell}                    local_shell(command, ...)      local_shell_call
//   {shell}                          shell(commands, ...)           shell_call
//   {apply_patch}                    apply_patch(type, path, diff)  apply_patch_call
//   {web_search} and the like        left out: OpenAI's own servers would run it
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/json_fields.h"

namespace corisco::gateway {
enum class ToolForm : std::uint8_t { function, custom, local_shell, shell, apply_patch };

struct ResponsesTool {
  std::string native_name;               // unique
  ToolForm form = ToolForm::function;
  std::string name;
  std::string name_space;                // empty: none
  bool is_strict = false;
};

class ResponsesTools {
 public:
  // tools_max: those in namespaces count.
  explicit ResponsesTools(std::size_t tools_max = 512) : tools_max_(tools_max) {}
  // tools: a list. Appends to native, which is an array.
  std::optional<ApiError> read(const Json& tools, Json& native);
  // Tools that only OpenAI's own servers run.
  std::uint32_t num_left_out() const { return num_left_out_; }
  std::vector<std::string> strict_names() const;   // of functions whose arguments must obey their schemas
  // By the name that a model calls it by; null: unknown.
  const ResponsesTool* find(std::string_view native_name) const;
  // For calls of earlier turns: the name that a template shows, also of a tool that is gone.
  std::string native_name(ToolForm form, const std::string& name, const std::string& name_space) const;

 private:
  std::optional<ApiError> read_one(const Json& tool, const std::string& where, const std::string& name_space,
                                   Json& native);
  std::optional<ApiError> read_named(const Json& tool, const std::string& type, const std::string& where,
                                     const std::string& name_space, Json& native);
  std::optional<ApiError> read_namespace(const Json& tool, const std::string& where, Json& native);
  void add(ResponsesTool tool, std::string description, Json parameters, Json& native);

  std::size_t tools_max_;
  std::vector<ResponsesTool> tools_;
  std::uint32_t num_left_out_ = 0;
};

// The arguments of a call in such a form, from its item's members and back. The latter is empty, and
// the call then has to come as a function's, if the model's arguments are not what the form needs.
std::string arguments_of_input(const std::string& custom_input);
std::string input_of_arguments(const std::string& arguments);   // of a custom tool; else the arguments themselves
std::string arguments_of_action(const Json& action);             // of the other forms
std::optional<Json> action_of_arguments(ToolForm form, const std::string& arguments);
}  // namespace corisco::gateway
