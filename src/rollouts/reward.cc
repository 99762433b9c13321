#include "rollouts/reward.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"

namespace corisco::rollouts {
namespace {
using nlohmann::json;
constexpr std::size_t kShownMax = 80;

Error refused(std::string_view what, std::string_view shown) {
  const bool is_long = shown.size() > kShownMax;
  return Error{Code::invalid_argument,
               cat("a reward must be a finite number or a boolean, not ", what, " (",
                   shown.substr(0, kShownMax), is_long ? "...)" : ")")};
}

std::string text_field(const json& object, const char* name) {
  const auto field = object.find(name);
  return field != object.end() && field->is_string() ? field->get<std::string>() : std::string();
}

Result<Reward> reward_of(const json& value, std::string_view shown) {
  if (value.is_boolean()) return Reward{value.get<bool>() ? 1.0 : 0.0, {}};
  if (!value.is_number()) return refused(cat("a JSON ", value.type_name()), shown);
  const auto number = value.get<double>();
  if (!std::isfinite(number)) return refused("a number out of range", shown);
  return Reward{number, {}};
}
}  // namespace

Result<Reward> parse_reward_text(std::string_view text) {
  const auto trimmed = trim(text);
  if (trimmed.empty()) return refused("an empty text", "");
  const auto parsed = parse_json(trimmed);
  if (!parsed.is_discarded()) return reward_of(parsed, trimmed);
  if (trimmed == "True" || trimmed == "False") return Reward{trimmed == "True" ? 1.0 : 0.0, {}};
  // Numbers that people write and JSON has not: "+1", ".5", "1.".
  const std::string copy(trimmed);
  char* end = nullptr;
  const double number = std::strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size()) return refused("a text", trimmed);
  if (!std::isfinite(number)) return refused("a non-finite number", trimmed);
  return Reward{number, {}};
}

Result<Reward> parse_function_reward(std::string_view result_json) {
  const auto result = parse_json(result_json);
  if (!result.is_object() || !result.contains("ok") || !result["ok"].is_boolean()) {
    return Error{Code::internal, "the warmed interpreter left no result"};
  }
  if (!result["ok"].get<bool>()) {
    return Error{Code::internal, text_field(result, "error")};
  }
  const auto shown = text_field(result, "shown");
  const json value = result.contains("value") ? result["value"] : json();
  if (!value.is_array()) {
    if (value.is_null() && !shown.empty()) return refused("what the function returned", shown);
    return reward_of(value, shown);
  }
  if (value.size() != 2 || !value[1].is_string()) return refused("this list", shown);
  CORISCO_TRY(Reward reward, reward_of(value[0], shown));
  reward.note = value[1].get<std::string>();
  return reward;
}

std::string_view last_line(std::string_view output) {
  const auto trimmed = trim(output);
  const auto feed = trimmed.rfind('\n');
  return trim(feed == std::string_view::npos ? trimmed : trimmed.substr(feed + 1));
}

std::string last_lines(std::string_view output, std::size_t count) {
  const auto trimmed = trim(output);
  std::size_t begin = trimmed.size();
  while (begin > 0 && count > 0) {
    const auto feed = trimmed.rfind('\n', begin - 1);
    begin = feed == std::string_view::npos ? 0 : feed;
    --count;
  }
  return std::string(trim(trimmed.substr(begin)));
}
}  // namespace corisco::rollouts
