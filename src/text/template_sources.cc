#include "text/template_sources.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/base/strings.h"

namespace corisco::text {
namespace {
using Json = nlohmann::ordered_json;

constexpr const char* kSpecialTokens[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                          "pad_token", "cls_token", "mask_token"};

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

// An empty object if the file is missing.
Result<Json> read_object(const std::string& path) {
  if (!exists(path)) return Json::object();
  CORISCO_TRY(const std::string text, files::read(path));
  Json json = parse_ordered_json(text);
  if (!json.is_object()) {
    return Error{Code::invalid_argument,
                 cat("could not use ", path, ": it is not a JSON object; fetch the model again")};
  }
  return json;
}

// A special token is a text, or an object that holds it as "content".
const Json* token_text(const Json& config, const char* name) {
  const auto found = config.find(name);
  if (found == config.end()) return nullptr;
  if (found->is_string()) return &*found;
  if (!found->is_object()) return nullptr;
  const auto content = found->find("content");
  return content != found->end() && content->is_string() ? &*content : nullptr;
}

std::string special_tokens(const Json& config, const Json& fallback) {
  Json tokens = Json::object();
  for (const char* name : kSpecialTokens) {
    const Json* text = token_text(config, name);
    if (text == nullptr) text = token_text(fallback, name);
    if (text != nullptr) tokens[name] = *text;
  }
  return json_text(tokens);
}

std::string text_field(const Json& object, const char* name) {
  if (!object.is_object()) return "";
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// The templates of a tokenizer_config.json that no file of their own has already given.
void take_from_config(const Json& config, const std::string& path, TemplateSources& sources) {
  const auto found = config.find("chat_template");
  if (found == config.end()) return;
  const auto take = [&](const std::string& text, std::string& source, std::string& source_path) {
    if (!source.empty() || text.empty()) return;
    source = text;
    source_path = path;
  };
  if (found->is_string()) take(found->get<std::string>(), sources.default_source, sources.default_path);
  if (!found->is_array()) return;
  for (const Json& named : *found) {
    const std::string text = text_field(named, "template");
    if (text_field(named, "name") == "default") take(text, sources.default_source, sources.default_path);
    if (text_field(named, "name") == "tool_use") take(text, sources.tool_use_source, sources.tool_use_path);
  }
}

Result<void> take_from_file(const std::string& path, std::string& source, std::string& source_path) {
  if (!exists(path)) return {};
  CORISCO_TRY(source, files::read(path));
  source_path = path;
  return {};
}
}  // namespace

Result<TemplateSources> find_templates(const std::string& model_folder) {
  const std::string config_path = model_folder + "/tokenizer_config.json";
  CORISCO_TRY(const Json config, read_object(config_path));
  CORISCO_TRY(const Json token_map, read_object(model_folder + "/special_tokens_map.json"));
  TemplateSources sources;
  CORISCO_CHECK(take_from_file(model_folder + "/chat_template.jinja", sources.default_source,
                               sources.default_path));
  CORISCO_CHECK(take_from_file(model_folder + "/additional_chat_templates/tool_use.jinja",
                               sources.tool_use_source, sources.tool_use_path));
  take_from_config(config, config_path, sources);
  if (sources.default_source.empty()) {
    return Error{Code::not_found,
                 cat("no chat template in ", model_folder, ": there is neither chat_template.jinja nor a "
                     "chat_template in tokenizer_config.json; use an instruction-tuned model, or add "
                     "chat_template.jinja to the folder")};
  }
  sources.special_tokens_json = special_tokens(config, token_map);
  return sources;
}
}  // namespace corisco::text
