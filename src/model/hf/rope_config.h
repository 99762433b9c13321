// The fields of a config.json that say how positions turn the heads. Pure; any thread.
#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "corisco/model/config.h"

namespace corisco::model::hf {
// rope_scaling, which older files have and which transformers prefers, or rope_parameters. Empty: neither is there.
nlohmann::json rope_fields(const nlohmann::json& json);
RopeConfig read_rope(const nlohmann::json& json, std::int64_t max_position);
// Returns nothing, or why the fields cannot be honoured. The architecture has filled rope.partial_factor by now.
std::string rope_problem(const nlohmann::json& json, const RopeConfig& rope);
// How many positions a yarn rotation is made for: model cards add one without a larger max_position_embeddings. 0 of
// any other type.
std::int64_t stretched_positions(const RopeConfig& rope);
}  // namespace corisco::model::hf
