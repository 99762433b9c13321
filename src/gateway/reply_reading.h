// From a model's syntax and a request to the parsers of its choices. Pure.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "corisco/gateway/reply_syntax.h"
#include "gateway/tool_calls/parser.h"

namespace corisco::gateway {
// One per choice; null where a reply is nothing but text.
//   tools_json    the tools that may be called; empty: calls are not looked for
//   is_reasoning  the prompt ends inside reasoning
std::vector<std::unique_ptr<tool_calls::Parser>> make_reply_parsers(const ReplySyntax& syntax,
                                                                    const std::string& tools_json,
                                                                    bool is_reasoning,
                                                                    std::size_t num_choices);
// For a turn that stands in a prompt, with all that its generation prompt wrote of it: calls are looked
// for even if no tools are known. Null where a turn is nothing but text.
std::unique_ptr<tool_calls::Parser> make_history_parser(const ReplySyntax& syntax,
                                                        const nlohmann::ordered_json& tools);
}  // namespace corisco::gateway
