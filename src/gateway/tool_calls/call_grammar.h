// How each family's tool calls are written, as rules of a grammar: the counterpart of its parser. Pure.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/tool_calls/grammar_text.h"

namespace corisco::gateway::tool_calls {
struct CallableTool {
  std::string name;
  nlohmann::ordered_json parameters;     // the schema; null: any object
  bool is_strict = false;                // what of the schema cannot be enforced is refused
};

// A rule body of the tool's arguments in JSON.
std::string json_arguments(const CallableTool& tool, GrammarText& out);

// Families whose calls can be forced: all that have a parser.
std::vector<std::string> families_with_grammars();

// A rule body of one call or, unless is_single, of several: as the family writes all calls of a reply.
// None: there is no such family.
std::optional<std::string> write_calls(std::string_view family, const std::vector<CallableTool>& tools,
                                       bool is_single, GrammarText& out);
// A rule body of a reply that is text with such calls in it, at will. None also where nothing but the
// calls' own form would tell them from text.
std::optional<std::string> write_text_with_calls(std::string_view family, const std::vector<CallableTool>& tools,
                                                 GrammarText& out);
}  // namespace corisco::gateway::tool_calls
