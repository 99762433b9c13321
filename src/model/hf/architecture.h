// What each supported architecture makes of a config.json beyond the fields that all of them share:
// biases, norms of heads, sliding windows, experts, recurrent layers. Pure; any thread.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "corisco/model/config.h"

namespace corisco::model::hf {
// The file's first architecture, or the one of its model_type where it names none.
std::string architecture_name(const nlohmann::json& json);
// The fields of the language model: the file itself or, where the architecture takes other inputs too, a part
// of it. Those inputs are then not served.
const nlohmann::json& text_part(const nlohmann::json& json);
// Fills the fields by config.architecture; the shared ones are filled already. Returns nothing, or why
// this file cannot be honoured, with the field's name. Throws json.hpp's exceptions for wrong types.
std::string read_architecture(const nlohmann::json& json, DecoderConfig& config);
}  // namespace corisco::model::hf
