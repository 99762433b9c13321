#include "corisco/base/json.h"

namespace corisco {
namespace {
template <class Json>
Json parse(std::string_view text) {
  return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}
template <class Json>
std::string print(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}
}  // namespace

nlohmann::json parse_json(std::string_view text) { return parse<nlohmann::json>(text); }
nlohmann::ordered_json parse_ordered_json(std::string_view text) { return parse<nlohmann::ordered_json>(text); }
std::string json_text(const nlohmann::json& value, int indent) { return print(value, indent); }
std::string json_text(const nlohmann::ordered_json& value, int indent) { return print(value, indent); }
}  // namespace corisco
