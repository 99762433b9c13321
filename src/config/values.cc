#include "config/values.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "corisco/base/strings.h"

namespace corisco::config {
namespace {
template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <class... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

template <class Number>
std::string shortest(Number value) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

std::optional<std::string> out_of_bounds(const std::string& text, double value, double min, double max) {
  if (value < min) return cat(text, " is below ", number_text(min));
  if (value > max) return cat(text, " is above ", number_text(max));
  return std::nullopt;
}

template <class Whole>
std::optional<std::string> assign_whole(const Rule& rule, Whole& target, const std::string& text) {
  const double min = std::max(rule.min, 0.0);
  const double max = std::min(rule.max, static_cast<double>(std::numeric_limits<Whole>::max()));
  const char* end = text.data() + text.size();
  std::int64_t negative = 0;
  if (starts_with(text, "-") && std::from_chars(text.data(), end, negative).ptr == end) {
    return cat(text, " is below ", number_text(min));
  }
  std::uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ptr != end || text.empty()) return cat("\"", text, "\" is not a whole number");
  const bool overflows = parsed.ec != std::errc{} || value > std::numeric_limits<Whole>::max();
  if (overflows) return cat(text, " is above ", number_text(max));
  if (auto wrong = out_of_bounds(text, static_cast<double>(value), min, max)) return wrong;
  target = static_cast<Whole>(value);
  return std::nullopt;
}

template <class Real>
std::optional<std::string> assign_real(const Rule& rule, Real& target, const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ptr != end || parsed.ec != std::errc{} || !std::isfinite(value)) {
    return cat("\"", text, "\" is not a finite number");
  }
  // Bounds are compared in double: 0.01 as a float is a little less than 0.01.
  const double max = std::min(rule.max, static_cast<double>(std::numeric_limits<Real>::max()));
  if (auto wrong = out_of_bounds(text, value, rule.min, max)) return wrong;
  target = static_cast<Real>(value);
  return std::nullopt;
}

std::optional<std::string> assign_word(const Rule& rule, std::string& target, const std::string& text) {
  bool is_known = rule.one_of.empty();
  Strings words;
  for (const char* word : rule.one_of) {
    words.emplace_back(word);
    is_known = is_known || text == word;
  }
  if (!is_known) return cat("\"", text, "\" is not one of ", join(words, ", "));
  target = text;
  return std::nullopt;
}

std::optional<std::string> assign_bool(bool& target, const std::string& text) {
  if (text != "true" && text != "false") return cat("\"", text, "\" is not true or false");
  target = text == "true";
  return std::nullopt;
}
}  // namespace

const char* kind_name(const Target& target) {
  return std::visit(Overloaded{
                        [](std::monostate) { return "a section"; },
                        [](std::string*) { return "text"; },
                        [](bool*) { return "true or false"; },
                        [](float*) { return "a number"; },
                        [](double*) { return "a number"; },
                        [](std::uint32_t*) { return "a whole number"; },
                        [](std::uint64_t*) { return "a whole number"; },
                        [](Strings*) { return "a list of texts"; },
                        [](StringMap*) { return "a map of texts"; },
                    },
                    target);
}

std::optional<std::string> assign(const Entry& entry, const std::string& text) {
  using Wrong = std::optional<std::string>;
  const Rule& rule = entry.rule;
  return std::visit(Overloaded{
                        [&](std::string* target) { return assign_word(rule, *target, text); },
                        [&](bool* target) { return assign_bool(*target, text); },
                        [&](float* target) { return assign_real(rule, *target, text); },
                        [&](double* target) { return assign_real(rule, *target, text); },
                        [&](std::uint32_t* target) { return assign_whole(rule, *target, text); },
                        [&](std::uint64_t* target) { return assign_whole(rule, *target, text); },
                        [&](auto) -> Wrong { return cat("must be ", kind_name(entry.target)); },
                    },
                    entry.target);
}

std::string number_text(double value) {
  // Sizes in plain digits (65536, not 6.5536e+04), as they are written in a config.
  if (std::nearbyint(value) == value && std::fabs(value) < 1e18) {
    return shortest(static_cast<std::int64_t>(value));
  }
  return shortest(value);
}

std::string yaml_of(const std::string& text) {
  std::string quoted = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '$' && i + 1 < text.size() && (text[i + 1] == '{' || text[i + 1] == '$')) quoted += '$';
    if (c == '\n') {
      quoted += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += cat("\\x", hex(byte).substr(14));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string yaml_of(const Target& target) {
  return std::visit(Overloaded{
                        [](std::monostate) { return std::string(); },
                        [](std::string* value) { return yaml_of(*value); },
                        [](bool* value) { return std::string(*value ? "true" : "false"); },
                        [](Strings* value) {
                          Strings parts;
                          for (const auto& one : *value) parts.push_back(yaml_of(one));
                          return cat("[", join(parts, ", "), "]");
                        },
                        [](StringMap* value) {
                          Strings parts;
                          for (const auto& [key, one] : *value) {
                            parts.push_back(cat(yaml_of(key), ": ", yaml_of(one)));
                          }
                          return cat("{", join(parts, ", "), "}");
                        },
                        [](auto* value) { return shortest(*value); },
                    },
                    target);
}
}  // namespace corisco::config
