// Fields that OpenAI's chat and plain completions have in common, with vLLM's additions. Pure.
#pragma once
#include "gateway/chat_request.h"
#include "gateway/json_fields.h"
#include "gateway/request_fields.h"

namespace corisco::gateway {
// Harmless values of fields that are not supported.
bool is_zero(const Json& value);
bool is_text_format(const Json& value);

// What would change the draws or the form of the reply, and is not supported.
void refuse_unsupported_output(JsonFields& fields);
// n, stop, stop_token_ids, the draws' limits, seed, stream and its options, return_token_ids.
void read_openai_output(JsonFields& fields, const ChatLimits& limits, ChatRequest& request);
}  // namespace corisco::gateway
