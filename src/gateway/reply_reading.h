// From a model's syntax and a request to the parsers of its choices. Pure.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "corisco/gateway/reply_syntax.h"
#include "gateway/tool_calls/parser.h"

namespace corisco::gateway {
// What stands around the reasoning at a reply's start; none if none is told apart, or if it is in a channel
// that the family's own parser reads.
std::optional<tool_calls::ReasoningTags> reasoning_tags_of(const ReplySyntax& syntax);
// Whether a rendered prompt ends inside reasoning.
bool ends_in_reasoning(std::string_view prompt, const ReplySyntax& syntax);
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
