// Anthropic's conversation and tools in the native form, which is OpenAI's: templates take no other.
// Pure; .cc files of the edge include it.
//
//   system "be brief"                             {role system, content "be brief"}
//   user [text "a", text "b"]                     {role user, content "a\nb"}
//   assistant [thinking, text, tool_use]          {role assistant, content, reasoning_content, tool_calls}
//   user [tool_result, tool_result, text]         {role tool}, {role tool}, {role user}
//   system in the midst of the messages           stays where it is
//
// Blocks' texts are joined by line breaks, as the parts of a chat completion are. What says nothing
// to a model (cache_control, citations, signatures) is left out; what is not text is refused by name.
#pragma once
#include <optional>

#include "gateway/json_fields.h"

namespace corisco::gateway {
// system: null if there is none. messages: a list. Appends to native, which is an array.
std::optional<ApiError> add_native_messages(const Json* system, const Json& messages, Json& native);
// tools: a list. Tools that Anthropic's own servers would run (web search and the like) are left out,
// as nobody could answer their calls.
std::optional<ApiError> add_native_tools(const Json& tools, Json& native);
}  // namespace corisco::gateway
