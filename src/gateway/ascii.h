// Bytes of the HTTP grammar: independent of the locale, safe for bytes above 127. Pure.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>

namespace corisco::gateway::ascii {
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
constexpr bool is_alphanumeric(char c) { return is_digit(c) || is_letter(c); }

inline std::string lower(std::string_view text) {
  std::string lowered(text);
  std::transform(lowered.begin(), lowered.end(), lowered.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return lowered;
}

// Without spaces and tabs at both ends, and nothing else.
inline std::string_view trim_blanks(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}
}  // namespace corisco::gateway::ascii
