#include "model/hf/architecture.h"

#include <algorithm>
#include <iterator>

#include "corisco/base/strings.h"
#include "model/hf/expert_config.h"
#include "model/hf/hybrid.h"
#include "model/hf/json_field.h"

namespace corisco::model::hf {
namespace {
using Json = nlohmann::json;

std::vector<bool> layers_from(std::int64_t first, std::int64_t num_layers) {
  std::vector<bool> layers;
  for (std::int64_t i = 0; i < num_layers; ++i) layers.push_back(i >= first);
  return layers;
}

// layer_types over `sliding`, which says what the architecture does without that field.
std::string read_layer_types(const Json& json, std::int64_t window, std::vector<bool>& sliding) {
  const auto types = field<std::vector<std::string>>(json, "layer_types", {});
  if (!types.empty() && types.size() != sliding.size()) {
    return cat("layer_types has ", types.size(), " entries for ", sliding.size(), " layers");
  }
  for (std::size_t i = 0; i < types.size(); ++i) {
    sliding[i] = types[i] == "sliding_attention";
    if (!sliding[i] && types[i] != "full_attention") {
      return cat("layer_types: \"", types[i], "\" is not supported; known: full_attention, sliding_attention");
    }
    if (sliding[i] && window == 0) return "layer_types has sliding_attention, but no window is in use";
  }
  return "";
}

enum class LayerTypes { decide, must_agree };

// Layers slide from the `first` one on if window is above 0.
std::string set_window(const Json& json, LayerTypes use, std::int64_t window, std::int64_t first,
                       DecoderConfig& config) {
  if (window < 0) return cat("sliding_window is ", window, "; it must be at least 1");
  const auto by_default = layers_from(window > 0 ? first : config.num_layers, config.num_layers);
  auto sliding = by_default;
  if (std::string problem = read_layer_types(json, window, sliding); !problem.empty()) return problem;
  if (use == LayerTypes::must_agree && sliding != by_default) {
    return cat("layer_types that differ from layer to layer are not supported for ", config.architecture);
  }
  const bool any = std::ranges::find(sliding, true) != sliding.end();
  config.sliding_window = any ? window : 0;
  config.sliding_layers = std::move(sliding);
  return "";
}

// Absent, the window is 4096; null, there is none.
std::int64_t read_window(const Json& json) {
  return json.contains("sliding_window") ? field(json, "sliding_window", std::int64_t{0}) : 4096;
}

// Qwen's files give a window that is in use only if another field says so.
std::int64_t qwen_window(const Json& json) { return field(json, "use_sliding_window", false) ? read_window(json) : 0; }

std::string read_llama(const Json& json, DecoderConfig& config) {
  config.qkv_bias = config.attention_output_bias = field(json, "attention_bias", false);
  config.mlp_bias = field(json, "mlp_bias", false);
  if (field(json, "sliding_window", std::int64_t{0}) > 0) return "sliding_window is not supported for Llama";
  return set_window(json, LayerTypes::must_agree, 0, 0, config);
}

std::string read_mistral(const Json& json, DecoderConfig& config) {
  return set_window(json, LayerTypes::must_agree, read_window(json), 0, config);
}

std::string read_qwen2(const Json& json, DecoderConfig& config) {
  config.qkv_bias = true;
  return set_window(json, LayerTypes::decide, qwen_window(json), field(json, "max_window_layers", 28), config);
}

void read_qwen3_attention(const Json& json, DecoderConfig& config) {
  config.norms_heads = true;
  config.qkv_bias = config.attention_output_bias = field(json, "attention_bias", false);
}

std::string read_qwen3(const Json& json, DecoderConfig& config) {
  if (!json.contains("head_dim")) config.head_dim = 128;
  read_qwen3_attention(json, config);
  return set_window(json, LayerTypes::decide, qwen_window(json), field(json, "max_window_layers", 28), config);
}

std::string read_qwen3_moe(const Json& json, DecoderConfig& config) {
  read_qwen3_attention(json, config);
  if (std::string problem = read_experts(json, {}, config); !problem.empty()) return problem;
  return set_window(json, LayerTypes::must_agree, qwen_window(json), 0, config);
}

struct Architecture {
  const char* name;
  const char* model_type;
  std::string (*read)(const Json&, DecoderConfig&);
  bool has_text_part = false;  // its file has the language model's fields in text_config
};
constexpr Architecture kArchitectures[] = {{"LlamaForCausalLM", "llama", read_llama},
                                           {"MistralForCausalLM", "mistral", read_mistral},
                                           {"Qwen2ForCausalLM", "qwen2", read_qwen2},
                                           {"Qwen3ForCausalLM", "qwen3", read_qwen3},
                                           {"Qwen3MoeForCausalLM", "qwen3_moe", read_qwen3_moe},
                                           {"Qwen3NextForCausalLM", "qwen3_next", read_qwen3_next},
                                           {"Qwen3_5ForCausalLM", "qwen3_5_text", read_qwen3_5},
                                           {"Qwen3_5MoeForCausalLM", "qwen3_5_moe_text", read_qwen3_5_moe},
                                           {"Qwen3_5ForConditionalGeneration", "qwen3_5", read_qwen3_5, true},
                                           {"Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe", read_qwen3_5_moe,
                                            true}};

const Architecture* find_architecture(const std::string& name) {
  const auto found = std::ranges::find_if(kArchitectures, [&](const auto& one) { return name == one.name; });
  return found == std::end(kArchitectures) ? nullptr : found;
}

std::string known_architectures() {
  std::vector<std::string> names;
  for (const auto& architecture : kArchitectures) names.emplace_back(architecture.name);
  return join(names, ", ");
}
}  // namespace

std::string architecture_name(const Json& json) {
  const auto names = field<std::vector<std::string>>(json, "architectures", {});
  if (!names.empty()) return names.front();
  const auto type = field<std::string>(json, "model_type", "");
  const auto found = std::ranges::find_if(kArchitectures, [&](const auto& one) { return type == one.model_type; });
  return found == std::end(kArchitectures) ? type : found->name;
}

const Json& text_part(const Json& json) {
  const Architecture* architecture = find_architecture(architecture_name(json));
  const auto part = json.find("text_config");
  const bool has_part = architecture && architecture->has_text_part && part != json.end() && part->is_object();
  return has_part ? *part : json;
}

std::string read_architecture(const Json& json, DecoderConfig& config) {
  for (const char* name : {"vision_config", "audio_config"}) {
    if (!field(json, name, Json()).is_null()) {
      return cat(name, ": inputs other than text are not supported (architecture \"", config.architecture,
                 "\"); known: ", known_architectures());
    }
  }
  const Architecture* found = find_architecture(config.architecture);
  if (found == nullptr) {
    return cat("architecture \"", config.architecture, "\" is not supported; known: ", known_architectures());
  }
  return found->read(json, config);
}
}  // namespace corisco::model::hf
