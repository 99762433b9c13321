// ${NAME} in a value -> the environment variable; $$ is a single $.
#pragma once
#include <string>

#include "corisco/base/result.h"

namespace corisco::config {
// The error says which variable is not set, or what is malformed.
Result<std::string> expand(const std::string& text);
bool is_variable_name(const std::string& name);  // letters, digits and _, no digit first
}  // namespace corisco::config
