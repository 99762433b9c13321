#include "gateway/lone_surrogates.h"

#include <charconv>
#include <cstdint>

namespace corisco::gateway {
namespace {
constexpr std::size_t kEscapeBytes = 6;          // "\ud83d"
constexpr std::string_view kReplacement = "\\ufffd";

// The UTF-16 unit whose escape begins there.
std::optional<std::uint32_t> unit_at(std::string_view json, std::size_t at) {
  const auto escape = json.substr(at, kEscapeBytes);
  if (escape.size() < kEscapeBytes || escape[0] != '\\' || escape[1] != 'u') return std::nullopt;
  std::uint32_t unit = 0;
  const auto [end, problem] = std::from_chars(escape.data() + 2, escape.data() + kEscapeBytes, unit, 16);
  const bool is_whole = problem == std::errc() && end == escape.data() + kEscapeBytes;
  return is_whole ? std::optional(unit) : std::nullopt;
}

bool is_first_half(std::uint32_t unit) { return unit >= 0xd800 && unit < 0xdc00; }
bool is_second_half(std::uint32_t unit) { return unit >= 0xdc00 && unit < 0xe000; }
}  // namespace

std::optional<std::string> with_lone_surrogates_replaced(std::string_view json) {
  std::string replaced;
  std::size_t done = 0;
  // A backslash stands in strings alone, and takes what follows it along: "\\ud83d" is no escape of a unit.
  for (auto at = json.find('\\'); at != std::string_view::npos; at = json.find('\\', at)) {
    const auto unit = unit_at(json, at);
    if (!unit) {
      at += 2;
      continue;
    }
    const auto next = unit_at(json, at + kEscapeBytes);
    if (is_first_half(*unit) && next && is_second_half(*next)) {
      at += 2 * kEscapeBytes;
      continue;
    }
    if (is_first_half(*unit) || is_second_half(*unit)) {
      replaced.append(json, done, at - done).append(kReplacement);
      done = at + kEscapeBytes;
    }
    at += kEscapeBytes;
  }
  if (done == 0) return std::nullopt;
  return replaced.append(json, done);
}
}  // namespace corisco::gateway
