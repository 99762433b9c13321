// The items of a Responses conversation in the native form, which is a chat completion's: templates
// take no other. Pure; .cc files of the edge include it.
//
//   message user [input_text "a", input_text "b"]       {role user, content "a\nb"}
//   reasoning, message assistant, function_call x 2     {role assistant, content, reasoning_content, tool_calls}
//   function_call_output x 2                            {role tool}, {role tool}
//   message developer                                   {role system}, where it is
//
// What one reply made is one message again: neighbours, and parallel calls between whose items their
// outputs came, if their ids say that they are of one reply. What says nothing to a model is left
// out; what is not text is refused by name.
#pragma once
#include <string>

#include "gateway/json_fields.h"
#include "gateway/responses_tools.h"

namespace corisco::gateway {
// instructions: empty: none. items: a list. The problem's place is an index into it.
OrApiError<Json> native_conversation(const std::string& instructions, const Json& items, const ResponsesTools& tools);

// Empty unless the item stands for one of an earlier response.
std::string referenced_item(const Json& item);

// The ids of a reply's items hold the reply's own: "fc_" and "1f0a..." and "_2".
std::string item_id(const char* prefix, const std::string& reply_id, std::size_t index);
}  // namespace corisco::gateway
