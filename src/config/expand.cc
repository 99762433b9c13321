#include "config/expand.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "corisco/base/strings.h"

namespace corisco::config {
namespace {
// The variable whose ${NAME} begins at text[begin]; end becomes the index after its brace.
Result<std::string> variable_at(const std::string& text, std::size_t begin, std::size_t& end) {
  const auto brace = text.find('}', begin);
  if (brace == std::string::npos) {
    return Error{Code::invalid_argument, cat("\"", text, "\": ${ without } (write $${ for a plain ${)")};
  }
  const std::string name = text.substr(begin + 2, brace - begin - 2);
  if (!is_variable_name(name)) {
    return Error{Code::invalid_argument,
                 cat("\"${", name, "}\" is not a variable's name (write $${ for a plain ${)")};
  }
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return Error{Code::not_found, cat("environment variable ", name, " is not set")};
  end = brace + 1;
  return std::string(value);
}
}  // namespace

bool is_variable_name(const std::string& name) {
  const auto is_word = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), is_word);
}

Result<std::string> expand(const std::string& text) {
  std::string expanded;
  for (std::size_t i = 0; i < text.size();) {
    const bool has_next = i + 1 < text.size();
    if (text[i] == '$' && has_next && text[i + 1] == '$') {
      expanded += '$';
      i += 2;
    } else if (text[i] == '$' && has_next && text[i + 1] == '{') {
      CORISCO_TRY(const std::string value, variable_at(text, i, i));
      expanded += value;
    } else {
      expanded += text[i++];
    }
  }
  return expanded;
}
}  // namespace corisco::config
