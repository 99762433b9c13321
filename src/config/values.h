// Text of a YAML scalar <-> value of a key, with the key's bounds.
#pragma once
#include <optional>
#include <string>

#include "config/entries.h"

namespace corisco::config {
// "a whole number", "true or false", ...; for messages and the reference page.
const char* kind_name(const Target& target);
// Sets a key that is not a list or a map from a scalar's text.
// Returns what is wrong with it ("0 is below 1"), or nothing.
std::optional<std::string> assign(const Entry& entry, const std::string& text);
// The value as YAML that loads back to the same value, on one line.
std::string yaml_of(const Target& target);
std::string yaml_of(const std::string& text);  // in double quotes
std::string number_text(double value);         // the shortest that reads back the same
}  // namespace corisco::config
