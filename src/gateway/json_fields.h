// Typed, optional fields of a JSON object, for the wire formats: null is absent, a wrong type or a
// value out of bounds is an error that names the field. Pure; .cc files of the edge include it.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "corisco/base/strings.h"
#include "gateway/api_error.h"

namespace corisco::gateway {
// Keeps the order of an object's members, since templates print them in it.
using Json = nlohmann::ordered_json;

struct JsonLimits {
  std::uint32_t depth_max = 64;          // of nested arrays and objects
  std::uint32_t members_max = 4096;      // of one object: looking one up takes time by their number
};
// Counted before anything is built from the text.
bool exceeds(std::string_view text, const JsonLimits& limits);
// The text as a JSON object, or why not; the text is never repeated. Half a character becomes U+FFFD.
OrApiError<Json> parse_json_object(std::string_view text, const JsonLimits& limits = {});

// Reads fields one after another; the first problem is kept, later reads still return.
class JsonFields {
 public:
  explicit JsonFields(const Json& object) : object_(object) {}

  const Json* find(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  std::optional<double> number(const char* name, double min, double max) {
    const auto* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number() || !std::isfinite(value->get<double>())) return refuse(name, "must be a number");
    const auto number = value->get<double>();
    if (number < min || number > max) return refuse(name, cat("must be from ", min, " to ", max));
    return number;
  }
  std::optional<std::int64_t> integer(const char* name, std::int64_t min, std::int64_t max) {
    const auto* value = find(name);
    if (value == nullptr) return std::nullopt;
    if (!is_whole(*value)) return refuse(name, "must be an integer");
    const bool is_too_large = value->is_number_unsigned() &&
                              value->get<std::uint64_t>() > static_cast<std::uint64_t>(max);
    if (is_too_large || value->get<std::int64_t>() < min || value->get<std::int64_t>() > max)
      return refuse(name, cat("must be from ", min, " to ", max));
    return value->get<std::int64_t>();
  }
  bool flag(const char* name, bool otherwise) {
    const auto* value = find(name);
    if (value == nullptr) return otherwise;
    if (value->is_boolean()) return value->get<bool>();
    refuse(name, "must be true or false");
    return otherwise;
  }
  std::string text(const char* name) {
    const auto* value = find(name);
    if (value == nullptr) return {};
    if (value->is_string()) return value->get<std::string>();
    refuse(name, "must be a string");
    return {};
  }
  std::nullopt_t refuse(const std::string& name, const std::string& why,
                        const std::string& code = "invalid_value") {
    if (!problem_) problem_ = invalid_request(cat("'", name, "' ", why), name, code);
    return std::nullopt;
  }
  const std::optional<ApiError>& problem() const { return problem_; }

 private:
  // 5.0 is an integer too: JSON has a single kind of number.
  static bool is_whole(const Json& value) {
    constexpr double kExactMax = 9007199254740992;
    if (!value.is_number_float()) return value.is_number_integer();
    const auto number = value.get<double>();
    return std::abs(number) <= kExactMax && std::trunc(number) == number;
  }

  const Json& object_;
  std::optional<ApiError> problem_;
};
}  // namespace corisco::gateway
