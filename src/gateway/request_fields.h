// Fields that the wire formats' requests have in common. Pure; .cc files of the edge include it.
#pragma once
#include <span>

#include "gateway/chat_request.h"
#include "gateway/json_fields.h"

namespace corisco::gateway {
// A field that would change the result and is not supported, unless its value is harmless.
struct Unsupported {
  const char* name;
  bool (*is_harmless)(const Json&);
};
void refuse_unsupported(JsonFields& fields, std::span<const Unsupported> unsupported);
// Whether a field's value leaves the result as it is without the field.
bool is_empty_or_false(const Json& value);

void read_model(JsonFields& fields, ChatRequest& request);
void read_template_kwargs(JsonFields& fields, ChatRequest& request);
// A list of texts under the format's name for it.
void read_stop_strings(JsonFields& fields, const char* name, const ChatLimits& limits, ChatRequest& request);
// temperature, top_p and top_k; top_k_min: -1 where that is a word for off.
void read_draw_limits(JsonFields& fields, int top_k_min, ClientSampling& sampling);
// The field that must be a non-empty list of at most so many; null if it is not, and that is noted.
const Json* read_messages_list(JsonFields& fields, const ChatLimits& limits);
// tool: that has a name and says whether it is strict.
void note_strict_tool(const Json& tool, ChatRequest& request);
const Json* read_tools_list(JsonFields& fields, const ChatLimits& limits);   // null if there are none too
}  // namespace corisco::gateway
