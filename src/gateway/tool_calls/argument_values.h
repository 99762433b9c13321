// Values that a model wrote as plain text or Python, as JSON. Pure.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "gateway/tool_calls/tool_schemas.h"

namespace corisco::gateway::tool_calls {
// The text as what is between the quotes of a JSON string; pieces can be escaped one by one.
std::string escaped(std::string_view text);
std::string json_string(std::string_view text);

// JSON, as the model wrote it, if that is one of the types, else a string: nothing is dropped and
// nothing is bent. True and Python's displays count too.
//   is_json_if_unknown: of a value of unknown type; else that is a string
std::string value_as_json(std::string_view text, const ValueTypes& types, bool is_json_if_unknown);

// A Python literal: constants, numbers, strings, lists, tuples, dicts with constant keys.
//   {'a': (1, None)}    {"a": [1, null]}
std::optional<std::string> python_as_json(std::string_view literal);
}  // namespace corisco::gateway::tool_calls
