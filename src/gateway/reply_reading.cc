#include "gateway/reply_reading.h"

#include <utility>

#include "corisco/base/assert.h"
#include "corisco/base/json.h"

namespace corisco::gateway {
namespace {
std::unique_ptr<tool_calls::Parser> make_reply_parser(const ReplySyntax& syntax, const nlohmann::ordered_json& tools,
                                                      bool reads_calls, bool is_reasoning) {
  const bool has_calls = !syntax.tool_parser.empty() && reads_calls;
  if (syntax.has_channels()) return tool_calls::make_harmony_parser(has_calls, syntax.has_reasoning);
  std::unique_ptr<tool_calls::Parser> parser;
  if (has_calls) {
    auto made = tool_calls::make_tool_parser(syntax.tool_parser, tools);
    CORISCO_ASSERT(made.ok(), made.error().message);   // the config allows only names that exist
    parser = std::move(made).value();
  }
  auto tags = reasoning_tags_of(syntax);
  if (!tags) return parser;
  if (!parser) tags->implicit_end.clear();
  return tool_calls::make_reasoning_parser(*tags, is_reasoning, std::move(parser));
}

bool has_text(std::string_view chat_template, std::string_view text) {
  return chat_template.find(text) != std::string_view::npos;
}
}  // namespace

ReplySyntax reply_syntax_of(const config::Gateway& options, std::string_view chat_template,
                            std::string_view model_type) {
  ReplySyntax syntax;
  if (options.tool_parser == "auto") {
    syntax.tool_parser = tool_calls::guess_family(chat_template, model_type).value_or("");
  } else if (options.tool_parser != "none") {
    syntax.tool_parser = options.tool_parser;
  }
  const bool is_auto = options.reasoning_parser == "auto";
  if (options.reasoning_parser == "openai" && options.tool_parser == "auto") syntax.tool_parser = "openai";
  if (syntax.tool_parser == "openai" || options.reasoning_parser == "openai") {
    syntax.reasoning_parser = "openai";
    syntax.has_reasoning = options.reasoning_parser != "none";
    return syntax;
  }
  const bool shows_channel = has_text(chat_template, "<|channel>") && has_text(chat_template, "<channel|>");
  if (is_auto && shows_channel) syntax.reasoning_parser = "gemma";
  const bool shows_tags = has_text(chat_template, "</think>") || has_text(chat_template, "<think>");
  syntax.has_reasoning = options.reasoning_parser == "think" || (is_auto && (shows_channel || shows_tags));
  return syntax;
}

std::optional<tool_calls::ReasoningTags> reasoning_tags_of(const ReplySyntax& syntax) {
  if (!syntax.has_reasoning || syntax.has_channels()) return std::nullopt;
  tool_calls::ReasoningTags tags;
  if (syntax.reasoning_parser == "gemma") tags = {"<|channel>thought", "<channel|>", ""};
  // Models whose templates write calls inside <tool_call> may open one without closing their reasoning.
  const auto& family = syntax.tool_parser;
  if (family == "qwen3_coder" || family == "glm45" || family == "glm47") tags.implicit_end = "<tool_call>";
  return tags;
}

bool ends_in_reasoning(std::string_view prompt, const ReplySyntax& syntax) {
  const auto tags = reasoning_tags_of(syntax);
  return tags && tool_calls::ends_in_reasoning(prompt, *tags);
}

std::vector<std::unique_ptr<tool_calls::Parser>> make_reply_parsers(const ReplySyntax& syntax,
                                                                    const std::string& tools_json,
                                                                    bool is_reasoning,
                                                                    std::size_t num_choices) {
  auto tools = nlohmann::ordered_json::array();
  if (!tools_json.empty()) tools = parse_ordered_json(tools_json);
  std::vector<std::unique_ptr<tool_calls::Parser>> parsers;
  for (std::size_t i = 0; i < num_choices; ++i) {
    parsers.push_back(make_reply_parser(syntax, tools, !tools.empty(), is_reasoning));
  }
  return parsers;
}

std::unique_ptr<tool_calls::Parser> make_history_parser(const ReplySyntax& syntax,
                                                        const nlohmann::ordered_json& tools) {
  return make_reply_parser(syntax, tools, true, false);
}
}  // namespace corisco::gateway
