// Replies of gpt-oss as grammar rules: the counterpart of harmony.cc. They begin in a message's head, after
// <|start|>assistant. Pure.
#pragma once
#include <string>
#include <vector>

#include "gateway/tool_calls/call_grammar.h"

namespace corisco::gateway::tool_calls {
// Rule bodies. A call is the reply's last message; its <|call|> ends the reply, as every end token does.
std::string harmony_call(const std::vector<CallableTool>& tools, GrammarText& out);
// A message in the analysis channel, and the start of the next one.
std::string harmony_thoughts(GrammarText& out);
// An answer: what is in the final channel obeys the body.
std::string harmony_answer(const std::string& body, const GrammarText& out);
// Messages at will, and then perhaps a call.
std::string harmony_text_with_calls(const std::vector<CallableTool>& tools, GrammarText& out);
}  // namespace corisco::gateway::tool_calls
