// Small text functions that the standard library of g++ 12 lacks.
#pragma once
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace corisco {
// cat("rank ", 3, ": ", 0.5) is "rank 3: 0.5".
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return std::move(out).str();
}

std::string fixed(double value, int decimals);           // fixed(0.126, 2) is "0.13"
std::string hex(std::uint64_t value);                    // 16 lower-case digits
std::string_view trim(std::string_view text);            // without blanks at both ends
std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
bool starts_with(std::string_view text, std::string_view prefix);
bool ends_with(std::string_view text, std::string_view suffix);
}  // namespace corisco
