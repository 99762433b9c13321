// The fields of a config.json that say which layers have experts, and which. Pure; any thread.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "corisco/model/config.h"

namespace corisco::model::hf {
// What an architecture takes where a file is silent.
struct ExpertDefaults {
  std::int64_t num_experts = 128, per_token = 8, intermediate_size = 768;
  bool normalises = false;
};
// Returns nothing, or why the fields cannot be honoured.
std::string read_experts(const nlohmann::json& json, const ExpertDefaults& defaults, DecoderConfig& config);
}  // namespace corisco::model::hf
