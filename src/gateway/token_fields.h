// What the requests of the routes have in common that take token ids and give token ids. Pure; .cc files of
// the edge include it.
#pragma once
#include <span>
#include <string>
#include <utility>

#include "gateway/chat_request.h"
#include "gateway/json_fields.h"

namespace corisco::gateway {
// A field of sampling_params, and vLLM's name for it.
using Renamed = std::pair<const char*, const char*>;

// A non-empty list of ids. name: a literal.
void read_prompt_ids(JsonFields& fields, const char* name, ChatRequest& request);
// request_id and the like: echoed.
void read_own_id(JsonFields& fields, const char* name, ChatRequest& request);
// sampling_params, with the reply's form among them, stream and stream_options, as the plain completions read them
// (openai_fields.h).
// renamed: what is called otherwise than in vLLM. Errors name a field as the client did. max_tokens_min: 0 where a
// request may ask for the prompt's log-probabilities alone.
void read_sampling_params(JsonFields& fields, std::span<const Renamed> renamed, std::uint32_t max_tokens_min,
                          const ChatLimits& limits, ChatRequest& request);
}  // namespace corisco::gateway
