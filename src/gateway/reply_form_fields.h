// The fields that say what a reply must be, of each wire format. Pure; .cc files of the edge include it.
#pragma once
#include "gateway/chat_request.h"
#include "gateway/json_fields.h"

namespace corisco::gateway {
// response_format of OpenAI's chat and plain completions, and vLLM's guided_json, guided_regex,
// guided_choice, guided_grammar and structured_outputs.
void read_openai_form(JsonFields& fields, ChatRequest& request);
void read_responses_form(JsonFields& fields, ChatRequest& request);   // text.format
void read_anthropic_form(JsonFields& fields, ChatRequest& request);   // output_config.format, output_format

// tool_choice, where it forces a call, and parallel_tool_calls. The tools must have been read.
void read_chat_tool_choice(JsonFields& fields, ChatRequest& request);
void read_responses_tool_choice(JsonFields& fields, ChatRequest& request);
void read_anthropic_tool_choice(JsonFields& fields, ChatRequest& request);
}  // namespace corisco::gateway
