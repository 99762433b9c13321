#include "model/hf/rope_config.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "corisco/base/strings.h"
#include "model/hf/json_field.h"

namespace corisco::model::hf {
namespace {
using Json = nlohmann::json;

Json object(const Json& json, const char* name) { return field<Json>(json, name, Json::object()); }

// rope_theta may lie beside the others' object.
RopeConfig read_from(const Json& fields, const Json& json, std::int64_t max_position) {
  RopeConfig rope;
  rope.theta = field(fields, "rope_theta", field(json, "rope_theta", 10000.0));
  rope.type = field<std::string>(fields, "rope_type", field<std::string>(fields, "type", "default"));
  rope.low_freq_factor = field(fields, "low_freq_factor", 0.0);
  rope.high_freq_factor = field(fields, "high_freq_factor", 0.0);
  rope.beta_fast = field(fields, "beta_fast", 32.0);
  rope.beta_slow = field(fields, "beta_slow", 1.0);
  rope.attention_factor = field(fields, "attention_factor", 0.0);
  rope.mscale = field(fields, "mscale", 0.0);
  rope.mscale_all_dim = field(fields, "mscale_all_dim", 0.0);
  rope.truncates = field(fields, "truncate", true);
  // As in transformers the one beside the object counts first.
  rope.original_max_position = field(json, "original_max_position_embeddings",
                                     field(fields, "original_max_position_embeddings", max_position));
  const double stretched = static_cast<double>(max_position) / static_cast<double>(rope.original_max_position);
  rope.factor = field(fields, "factor", rope.type == "yarn" ? stretched : 0.0);
  return rope;
}

std::string number_problem(const RopeConfig& rope) {
  if (!(rope.theta > 0)) return cat("rope_theta is ", rope.theta, "; it must be above 0");
  if (rope.type == "default") return "";
  if (!(rope.factor >= 1)) return cat("rope field factor is ", rope.factor, "; it must be at least 1");
  if (rope.original_max_position < 1) {
    return cat("original_max_position_embeddings is ", rope.original_max_position, "; it must be at least 1");
  }
  if (rope.type == "llama3" && !(rope.low_freq_factor > 0 && rope.high_freq_factor > rope.low_freq_factor)) {
    return cat("rope fields low_freq_factor and high_freq_factor are ", rope.low_freq_factor, " and ",
               rope.high_freq_factor, "; they must be above 0, the second above the first");
  }
  return "";
}

std::string type_problem(const RopeConfig& rope) {
  static const std::vector<std::string> known{"default", "linear", "dynamic", "llama3", "yarn"};
  if (std::ranges::find(known, rope.type) != known.end()) return "";
  return cat("rope type \"", rope.type, "\" is not supported; known: ", join(known, ", "));
}
}  // namespace

Json rope_fields(const Json& json) {
  Json older = object(json, "rope_scaling");
  return older.empty() ? object(json, "rope_parameters") : older;
}

RopeConfig read_rope(const Json& json, std::int64_t max_position) {
  return read_from(rope_fields(json), json, max_position);
}

std::string rope_problem(const Json& json, const RopeConfig& rope) {
  const Json fields = rope_fields(json), newer = object(json, "rope_parameters");
  if (std::any_of(fields.begin(), fields.end(), [](const Json& one) { return one.is_object(); })) {
    return "rope_parameters for each type of layer are not supported";
  }
  const auto max_position = field<std::int64_t>(json, "max_position_embeddings", 2048);
  if (!newer.empty() && read_from(newer, json, max_position) != read_from(fields, json, max_position)) {
    return "rope_scaling and rope_parameters do not say the same: leave one of them, with rope_theta";
  }
  if (std::string problem = type_problem(rope); !problem.empty()) return problem;
  // Who knows the field has read it.
  const double outer = field(json, "partial_rotary_factor", rope.partial_factor);
  const double partial = field(fields, "partial_rotary_factor", outer);
  if (partial != rope.partial_factor) return "partial_rotary_factor other than 1 is not supported";
  return number_problem(rope);
}

std::int64_t stretched_positions(const RopeConfig& rope) {
  return rope.type == "yarn" ? std::llround(rope.factor * static_cast<double>(rope.original_max_position)) : 0;
}
}  // namespace corisco::model::hf
