// The families' parsers, one file each; the factory in parser.cc names them.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>

#include "gateway/tool_calls/parser.h"

namespace corisco::gateway::tool_calls {
using Tools = nlohmann::ordered_json;
std::unique_ptr<Parser> make_hermes();
std::unique_ptr<Parser> make_qwen3_coder(const Tools& tools);
std::unique_ptr<Parser> make_llama3_json();
std::unique_ptr<Parser> make_mistral();
std::unique_ptr<Parser> make_deepseek_v3();
std::unique_ptr<Parser> make_glm45(const Tools& tools);
std::unique_ptr<Parser> make_pythonic();
std::unique_ptr<Parser> make_deepseek_v32(const Tools& tools);
std::unique_ptr<Parser> make_kimi_k2(const Tools& tools);
std::unique_ptr<Parser> make_gemma();
}  // namespace corisco::gateway::tool_calls
