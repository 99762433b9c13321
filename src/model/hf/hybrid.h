// Architectures in which most layers are a gated DeltaNet: Qwen3-Next and Qwen3.5. Pure; any thread.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "corisco/model/config.h"

namespace corisco::model::hf {
// Each fills the config as read_architecture does; for Qwen3.5 json is the file's text part.
std::string read_qwen3_next(const nlohmann::json& json, DecoderConfig& config);
std::string read_qwen3_5(const nlohmann::json& json, DecoderConfig& config);
std::string read_qwen3_5_moe(const nlohmann::json& json, DecoderConfig& config);
}  // namespace corisco::model::hf
