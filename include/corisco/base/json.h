// JSON texts read and written in one place: parser and writer are templates, which every file that
// used them would compile again.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace corisco {
// A value with is_discarded() where the text is not JSON. Nesting is not limited here.
nlohmann::json parse_json(std::string_view text);
// The same, with the members of objects in the text's order.
nlohmann::ordered_json parse_ordered_json(std::string_view text);

// On one line, or indented; bytes that are not UTF-8 are replaced.
std::string json_text(const nlohmann::json& value, int indent = -1);
std::string json_text(const nlohmann::ordered_json& value, int indent = -1);
}  // namespace corisco
