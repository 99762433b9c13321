#include "gateway/json_fields.h"

#include <vector>

#include "corisco/base/json.h"
#include "gateway/lone_surrogates.h"
#include "gateway/utf8_check.h"

namespace corisco::gateway {
bool exceeds(std::string_view text, const JsonLimits& limits) {
  std::vector<std::uint32_t> members;    // of each open object; arrays count their elements unbounded
  std::vector<bool> is_object;
  bool is_in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_in_string) {
      if (c == '\\') ++i;
      if (c == '"') is_in_string = false;
    } else if (c == '"') {
      is_in_string = true;
    } else if (c == '[' || c == '{') {
      if (members.size() == limits.depth_max) return true;
      members.push_back(1);
      is_object.push_back(c == '{');
    } else if ((c == ']' || c == '}') && !members.empty()) {
      members.pop_back();
      is_object.pop_back();
    } else if (c == ',' && !members.empty() && ++members.back() > limits.members_max && is_object.back()) {
      return true;
    }
  }
  return false;
}

OrApiError<Json> parse_json_object(std::string_view text, const JsonLimits& limits) {
  if (exceeds(text, limits))
    return invalid_request(cat("the body is nested deeper than ", limits.depth_max,
                               " levels or has an object with more than ", limits.members_max, " members"),
                           {}, "invalid_json");
  auto parsed = parse_ordered_json(text);
  // Looked for when something is wrong alone, since hardly a text has one.
  if (parsed.is_discarded())
    if (const auto replaced = with_lone_surrogates_replaced(text)) parsed = parse_ordered_json(*replaced);
  if (parsed.is_discarded()) {
    if (const auto at = invalid_utf8_at(text))
      return invalid_request(cat("the body is not UTF-8: its byte ", *at, " begins no character"), {}, "invalid_json");
    return invalid_request("the body is not valid JSON", {}, "invalid_json");
  }
  if (!parsed.is_object()) return invalid_request("the body must be a JSON object", {}, "invalid_json");
  return parsed;
}
}  // namespace corisco::gateway
