// Calls whose arguments are tags around raw values, as grammar rules: the counterpart of TaggedArguments. Pure.
#pragma once
#include <string>
#include <vector>

#include "gateway/tool_calls/call_grammar.h"

namespace corisco::gateway::tool_calls {
// Rule bodies of a call, without the opener. Arguments come in the schema's order, optional ones at will,
// no others. What the parser takes for text is any text (or one of the schema's own), other values are JSON
// that obeys the parameter's schema.
std::string qwen3_coder_call(const std::vector<CallableTool>& tools, GrammarText& out);
std::string glm_call(const std::vector<CallableTool>& tools, bool has_newlines, GrammarText& out);
// In a section, with a newline after it.
std::string dsml_call(const std::vector<CallableTool>& tools, GrammarText& out);
}  // namespace corisco::gateway::tool_calls
