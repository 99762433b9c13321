#include "gateway/tool_calls/argument_values.h"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "corisco/base/strings.h"
#include "gateway/ascii.h"

namespace corisco::gateway::tool_calls {
namespace {
const char* short_escape(char c) {
  switch (c) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    case '\b': return "\\b";
    case '\f': return "\\f";
    default: return nullptr;
  }
}

// By the first byte of valid JSON.
bool is_allowed(char first, const ValueTypes& types) {
  switch (first) {
    case '{': return types.object;
    case '[': return types.array;
    case '"': return types.string;
    case 't':
    case 'f': return types.boolean;
    case 'n': return types.null;
    default: return types.number;
  }
}
}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto* escape = short_escape(c);
    if (escape != nullptr) {
      out += escape;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
      out += code.data();
    } else {
      out += c;
    }
  }
  return out;
}

std::string json_string(std::string_view text) { return '"' + escaped(text) + '"'; }

std::string value_as_json(std::string_view text, const ValueTypes& types, bool is_json_if_unknown) {
  if (types.is_only_string() || (!types.is_known() && !is_json_if_unknown)) return json_string(text);
  const auto value = trim(text);
  if (nlohmann::json::accept(value)) {
    const bool is_doubtful = types.string || value.front() == 'n';
    const bool is_json = types.is_known() && is_doubtful
                             ? value.front() != '"' && is_allowed(value.front(), types)
                             : true;
    return is_json ? std::string(value) : json_string(text);
  }
  const auto lowered = ascii::lower(value);
  if (types.boolean && (lowered == "true" || lowered == "false")) return lowered;
  if (types.string) return json_string(text);
  return python_as_json(value).value_or(json_string(text));
}
}  // namespace corisco::gateway::tool_calls
