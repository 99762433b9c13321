// Calls whose arguments are a family's own literals, as grammar rules: the counterparts of pythonic.cc and
// gemma.cc. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "gateway/tool_calls/call_grammar.h"

namespace corisco::gateway::tool_calls {
// NAME(key=value, ...) of each tool. Strings stand in double quotes.
std::string pythonic_call(const std::vector<CallableTool>& tools, GrammarText& out);
// call:NAME{key:value,...} and the end marker, which follow what opens the call. Strings stand between quotes.
std::string gemma_call(const std::vector<CallableTool>& tools, const std::string& quote, std::string_view end,
                       GrammarText& out);
}  // namespace corisco::gateway::tool_calls
