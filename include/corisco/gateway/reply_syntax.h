// How a model writes tool calls and reasoning into its replies.
#pragma once
#include <string>
#include <string_view>

#include "corisco/config/config.h"

namespace corisco::gateway {
struct ReplySyntax {
  std::string tool_parser;               // one of tool_calls::make_tool_parser's names; empty: none
  bool has_reasoning = false;            // is told apart
  // How reasoning is written: think, <think>...</think> at a reply's start; gemma, in its thought channel there;
  // openai, in gpt-oss' analysis channel.
  std::string reasoning_parser = "think";

  // A turn is messages in channels, read as a whole.
  bool has_channels() const { return tool_parser == "openai" || (has_reasoning && reasoning_parser == "openai"); }
};
// What the config says; where it says auto, what the template shows or, if it shows no calls, what
// models of the type are known to write.
ReplySyntax reply_syntax_of(const config::Gateway& options, std::string_view chat_template,
                            std::string_view model_type);
}  // namespace corisco::gateway
