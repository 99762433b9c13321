// Where a model folder keeps its chat templates and the names of its special tokens.
#pragma once
#include <string>

#include "corisco/base/result.h"

namespace corisco::text {
struct TemplateSources {
  std::string default_source;
  std::string default_path;         // the file it stands in, for messages
  std::string tool_use_source;      // rendered instead when tools are given; empty: there is none
  std::string tool_use_path;
  std::string special_tokens_json;  // {"bos_token": "<s>", ...}
};

// chat_template.jinja and additional_chat_templates/ come first, then chat_template of
// tokenizer_config.json, which is one text or a list of {name, template}.
// not_found if there is no template; invalid_argument if a file is not what it should be.
Result<TemplateSources> find_templates(const std::string& model_folder);
}  // namespace corisco::text
