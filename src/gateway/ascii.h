// Bytes of the HTTP grammar: independent of the locale, safe for bytes above 127. Pure.
#pragma once
#include <algorithm>
#include <charconv>
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

// Takes a number of at least 1 off the text's front; without leading zeros, so that a path has one form.
template <class Number>
bool take_number(std::string_view& text, Number& number) {
  if (text.empty() || text.front() < '1' || text.front() > '9') return false;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  return true;
}
}  // namespace corisco::gateway::ascii
