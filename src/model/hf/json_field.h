// One field of a Hugging Face config.json. Internal to the model.
#pragma once
#include <nlohmann/json.hpp>

namespace corisco::model::hf {
// A field that is absent or null has its fallback, as in transformers.
template <class T>
T field(const nlohmann::json& json, const char* name, T fallback) {
  const auto found = json.find(name);
  return found == json.end() || found->is_null() ? fallback : found->get<T>();
}
}  // namespace corisco::model::hf
