#include "gateway/reply_reading.h"

#include <utility>

#include "corisco/base/assert.h"
#include "corisco/base/json.h"

namespace corisco::gateway {
namespace {
// Models whose templates write calls inside <tool_call> may open one without closing their reasoning.
tool_calls::ReasoningTags tags_for(const std::string& tool_parser) {
  tool_calls::ReasoningTags tags;
  if (tool_parser == "qwen3_coder" || tool_parser == "glm45" || tool_parser == "glm47") {
    tags.implicit_end = "<tool_call>";
  }
  return tags;
}

std::unique_ptr<tool_calls::Parser> make_reply_parser(const ReplySyntax& syntax, const nlohmann::ordered_json& tools,
                                                      bool reads_calls, bool is_reasoning) {
  std::unique_ptr<tool_calls::Parser> parser;
  if (!syntax.tool_parser.empty() && reads_calls) {
    auto made = tool_calls::make_tool_parser(syntax.tool_parser, tools);
    CORISCO_ASSERT(made.ok(), made.error().message);   // the config allows only names that exist
    parser = std::move(made).value();
  }
  if (!syntax.has_reasoning) return parser;
  const auto tags = tags_for(parser ? syntax.tool_parser : std::string());
  return tool_calls::make_reasoning_parser(tags, is_reasoning, std::move(parser));
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
  const bool shows_reasoning = chat_template.find("</think>") != std::string_view::npos ||
                               chat_template.find("<think>") != std::string_view::npos;
  syntax.has_reasoning = options.reasoning_parser == "think" || (options.reasoning_parser == "auto" && shows_reasoning);
  return syntax;
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
