// Reads config.json, generation_config.json and the tokenizer's end token of a Hugging Face folder into a
// DecoderConfig.
// Pure; any thread. Never guesses: a field whose meaning this code lacks is an error that names it.
#include "corisco/model/config.h"

#include <algorithm>
#include <charconv>

#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "model/hf/architecture.h"
#include "model/hf/json_field.h"
#include "model/hf/rope_config.h"

namespace corisco::model {
namespace {
using hf::field;
using Json = nlohmann::json;

Result<Json> parse_file(const std::string& path) {
  CORISCO_TRY(const std::string text, files::read(path));
  Json json = parse_json(text);
  if (!json.is_object()) return Error{Code::invalid_argument, cat(path, " is not a JSON object")};
  return json;
}

void append_end_ids(const Json& json, std::vector<std::int32_t>& ids) {
  const auto found = json.find("eos_token_id");
  if (found == json.end() || found->is_null()) return;
  const auto more = found->is_array() ? found->get<std::vector<std::int32_t>>()
                                      : std::vector<std::int32_t>{found->get<std::int32_t>()};
  for (const auto id : more) {
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
  }
}

std::string semantics_problem(const Json& json, const DecoderConfig& config) {
  const auto activation = field<std::string>(json, "hidden_act", "silu");
  if (activation != "silu" && activation != "swish")
    return cat("hidden_act \"", activation, "\" is not supported; known: silu");
  if (field(json, "attention_dropout", 0.0) != 0) return "attention_dropout other than 0 is not supported";
  if (!field(json, "is_causal", true)) return "is_causal: false is not supported";
  if (!field(json, "per_layer_config", Json()).empty()) return "per_layer_config: layers that differ are not supported";
  return hf::rope_problem(json, config.rope);
}

std::string shape_problem(const DecoderConfig& config) {
  const std::pair<const char*, std::int64_t> sizes[] = {{"hidden_size", config.hidden_size},
                                                        {"num_hidden_layers", config.num_layers},
                                                        {"num_attention_heads", config.num_heads},
                                                        {"num_key_value_heads", config.num_kv_heads},
                                                        {"head_dim", config.head_dim},
                                                        {"vocab_size", config.vocab_size},
                                                        {"max_position_embeddings", config.max_position}};
  for (const auto& [name, size] : sizes) {
    if (size < 1) return cat(name, " is ", size, "; it must be at least 1");
  }
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    if (config.intermediate_size < 1 && !config.has_experts(static_cast<std::size_t>(i))) {
      return cat("intermediate_size is ", config.intermediate_size, "; it must be at least 1");
    }
  }
  if (config.num_heads % config.num_kv_heads != 0) {
    return cat("num_attention_heads ", config.num_heads, " is not a multiple of num_key_value_heads ",
               config.num_kv_heads);
  }
  if (config.head_dim % 2 != 0) return cat("head_dim ", config.head_dim, " is odd");
  if (config.turned_dim() < 2 || config.turned_dim() > config.head_dim || config.turned_dim() % 2 != 0) {
    return cat("partial_rotary_factor ", config.rope.partial_factor, " turns ", config.turned_dim(), " of ",
               config.head_dim, " numbers; it must be an even number of them");
  }
  if (config.head_dim > 512) return cat("head_dim ", config.head_dim, " is above 512");
  return "";
}

DecoderConfig read_fields(const Json& json) {
  DecoderConfig config;
  config.hidden_size = field<std::int64_t>(json, "hidden_size", 0);
  config.intermediate_size = field<std::int64_t>(json, "intermediate_size", 0);
  config.num_layers = field<std::int64_t>(json, "num_hidden_layers", 0);
  config.num_heads = field<std::int64_t>(json, "num_attention_heads", 0);
  config.num_kv_heads = field(json, "num_key_value_heads", config.num_heads);
  config.head_dim =
      field<std::int64_t>(json, "head_dim", config.num_heads > 0 ? config.hidden_size / config.num_heads : 0);
  config.vocab_size = field<std::int64_t>(json, "vocab_size", 0);
  config.max_position = field<std::int64_t>(json, "max_position_embeddings", 2048);
  config.norm_epsilon = field(json, "rms_norm_eps", 1e-6);
  config.tie_embeddings = field(json, "tie_word_embeddings", false);
  config.dtype = field<std::string>(json, "dtype", field<std::string>(json, "torch_dtype", "float32"));
  config.rope = hf::read_rope(json, config.max_position);
  append_end_ids(json, config.end_ids);
  return config;
}

std::string outer_problem(const Json& json, const Json& text) {
  const bool is_quantised = !field(json, "quantization_config", Json()).is_null() ||
                            !field(text, "quantization_config", Json()).is_null();
  return is_quantised ? "quantization_config: quantised checkpoints are not supported" : "";
}

// What a file whose language model is a part of it says outside that part.
void read_outer_fields(const Json& json, DecoderConfig& config) {
  config.architecture = hf::architecture_name(json);
  config.tie_embeddings = field(json, "tie_word_embeddings", config.tie_embeddings);
  config.dtype = field<std::string>(json, "dtype", field<std::string>(json, "torch_dtype", config.dtype));
  append_end_ids(json, config.end_ids);
}

void read_generation(const Json& json, DecoderConfig& config) {
  append_end_ids(json, config.end_ids);
  for (const char* name : {"temperature", "top_k", "top_p", "min_p", "repetition_penalty"}) {
    if (!field(json, name, Json()).is_null()) config.unused_sampling.emplace_back(name);
  }
}

// The text of the tokenizer's end token; null: it has none.
Json tokenizer_end_text(const Json& json) {
  const auto end = json.find("eos_token");
  if (end == json.end()) return nullptr;
  return end->is_object() ? end->value("content", Json()) : *end;
}

// tokens: each under its id.
void append_listed_end(const Json& tokens, const Json& text, std::vector<std::int32_t>& ids) {
  for (const auto& [key, token] : tokens.items()) {
    std::int32_t id = 0;
    const bool is_id = std::from_chars(key.data(), key.data() + key.size(), id).ec == std::errc{};
    if (is_id && token.is_object() && token.value("content", Json()) == text)
      append_end_ids(Json{{"eos_token_id", id}}, ids);
  }
}

// The tokenizer's end token, by the id that its file lists for it: fine-tunes of base models change it
// and leave the configs as they were. transformers 5 lists ids in tokenizer.json alone.
Result<void> append_tokenizer_end(const std::string& folder, std::vector<std::int32_t>& ids) {
  const auto config = parse_file(folder + "/tokenizer_config.json");
  if (!config.ok() && config.error().code != Code::not_found) return config.error();
  const Json text = config.ok() ? tokenizer_end_text(config.value()) : Json();
  if (!text.is_string()) return {};
  const auto listed = config.value().find("added_tokens_decoder");
  if (listed != config.value().end() && listed->is_object()) {
    append_listed_end(*listed, text, ids);
    return {};
  }
  const auto tokenizer = parse_file(folder + "/tokenizer.json");
  if (!tokenizer.ok() && tokenizer.error().code != Code::not_found) return tokenizer.error();
  const Json added = tokenizer.ok() ? tokenizer.value().value("added_tokens", Json()) : Json();
  for (const auto& token : added) {
    if (token.is_object() && token.value("content", Json()) == text)
      append_end_ids(Json{{"eos_token_id", token.value("id", Json())}}, ids);
  }
  return {};
}
}  // namespace

Result<DecoderConfig> read_config(const std::string& folder) {
  const std::string path = folder + "/config.json";
  CORISCO_TRY(const Json json, parse_file(path));
  try {
    const Json& text = hf::text_part(json);
    DecoderConfig config = read_fields(text);
    read_outer_fields(json, config);
    std::string problem = outer_problem(json, text);
    if (problem.empty()) problem = hf::read_architecture(text, config);
    if (problem.empty()) problem = semantics_problem(text, config);
    if (problem.empty()) problem = shape_problem(config);
    if (problem.empty()) config.max_position = std::max(config.max_position, hf::stretched_positions(config.rope));
    if (!problem.empty()) return Error{Code::invalid_argument, cat(path, ": ", problem)};
    const auto generation = parse_file(folder + "/generation_config.json");
    if (generation.ok()) read_generation(generation.value(), config);
    else if (generation.error().code != Code::not_found) return generation.error();
    CORISCO_CHECK(append_tokenizer_end(folder, config.end_ids));
    return config;
  } catch (const nlohmann::json::exception& error) {
    return Error{Code::invalid_argument, cat(path, ": a field has the wrong type: ", error.what())};
  }
}
}  // namespace corisco::model
