// How a model writes tool calls and reasoning into its replies.
#pragma once
#include <string>
#include <string_view>

#include "corisco/config/config.h"

namespace corisco::gateway {
struct ReplySyntax {
  std::string tool_parser;               // one of tool_calls::make_tool_parser's names; empty: none
  bool has_reasoning = false;            // <think>...</think> at a reply's start
};
// What the config says; where it says auto, what the template shows or, if it shows no calls, what
// models of the type are known to write.
ReplySyntax reply_syntax_of(const config::Gateway& options, std::string_view chat_template,
                            std::string_view model_type);
}  // namespace corisco::gateway
