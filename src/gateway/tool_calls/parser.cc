#include "gateway/tool_calls/parser.h"

#include <nlohmann/json.hpp>

#include "corisco/base/strings.h"
#include "gateway/tool_calls/families.h"

namespace corisco::gateway::tool_calls {
namespace {
struct Family {
  const char* name;                      // vLLM's, where it has one
  std::unique_ptr<Parser> (*make)(const Tools& tools);
};
constexpr Family kFamilies[] = {
    {"hermes", [](const Tools&) { return make_hermes(); }},
    {"qwen3_coder", [](const Tools& tools) { return make_qwen3_coder(tools); }},
    {"llama3_json", [](const Tools&) { return make_llama3_json(); }},
    {"mistral", [](const Tools&) { return make_mistral(); }},
    {"deepseek_v3", [](const Tools&) { return make_deepseek_v3(); }},
    {"deepseek_v31", [](const Tools&) { return make_deepseek_v3(); }},
    {"glm45", [](const Tools& tools) { return make_glm45(tools); }},
    {"glm47", [](const Tools& tools) { return make_glm45(tools); }},
    {"pythonic", [](const Tools&) { return make_pythonic(); }},
    {"llama4_pythonic", [](const Tools&) { return make_pythonic(); }},
    {"deepseek_v32", [](const Tools& tools) { return make_deepseek_v32(tools); }},
    {"kimi_k2", [](const Tools& tools) { return make_kimi_k2(tools); }},
    {"gemma", [](const Tools&) { return make_gemma(); }},
    {"openai", [](const Tools&) { return make_harmony_parser(true, true); }},
};

// The first whose text the template has, and has not the other one; no family: a format that no parser here reads.
struct Trait {
  const char* text;
  const char* family;
  const char* absent = nullptr;
};
constexpr Trait kTemplateTraits[] = {
    {"｜DSML｜", "deepseek_v32"},
    {"<|tool_calls_section_begin|>", "kimi_k2"},
    {"<|channel|>", "openai"},
    {"<start_function_call>", "gemma"},
    {"<|tool_call>call:", "gemma"},
    {"<minimax:tool_call>", nullptr},
    {"<function=", "qwen3_coder"},
    {"}<arg_key>", "glm47"},             // nothing between a call's name and its arguments
    {"<arg_key>", "glm45"},
    {"<｜tool▁sep｜>", "deepseek_v31", "```json"},   // V3 and R1 fence the arguments
    {"<｜tool▁call▁begin｜>", "deepseek_v3"},
    {"<｜tool▁calls▁begin｜>", "deepseek_v3"},
    {"[TOOL_CALLS]", "mistral"},
    {"<tool_call>", "hermes"},
    {"[func_name1(", "pythonic"},
    {"<|python_start|>", "pythonic"},
    {"<|python_tag|>", "llama3_json"},
};
// For a template that shows no call.
constexpr Trait kModelTypes[] = {
    {"llama4", "pythonic"},         {"deepseek_v3", "deepseek_v3"}, {"glm4_moe", "glm45"},
    {"qwen3_next", "qwen3_coder"},  {"mistral", "mistral"},         {"mistral3", "mistral"},
    {"deepseek_v32", "deepseek_v32"}, {"deepseek_v4", "deepseek_v32"}, {"kimi_k2", "kimi_k2"},
    {"gpt_oss", "openai"},          {"gemma4", "gemma"},            {"gemma4_text", "gemma"},
};

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
}  // namespace

Result<std::unique_ptr<Parser>> make_tool_parser(std::string_view name, const Tools& tools) {
  std::vector<std::string> known;
  for (const auto& family : kFamilies) {
    if (name == family.name) return family.make(tools);
    known.emplace_back(family.name);
  }
  return Error{Code::invalid_argument,
               cat("no tool-call parser is named '", name, "'; use one of ", join(known, ", "))};
}

std::optional<std::string> guess_family(std::string_view chat_template, std::string_view model_type) {
  const auto as_name = [](const char* family) {
    return family == nullptr ? std::nullopt : std::optional<std::string>(family);
  };
  for (const auto& trait : kTemplateTraits)
    if (has(chat_template, trait.text) && !(trait.absent != nullptr && has(chat_template, trait.absent)))
      return as_name(trait.family);
  for (const auto& trait : kModelTypes)
    if (model_type == trait.text) return as_name(trait.family);
  return std::nullopt;
}
}  // namespace corisco::gateway::tool_calls
