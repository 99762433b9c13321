// Fields that OpenAI's chat and plain completions have in common, with vLLM's additions. Pure.
#pragma once
#include "gateway/chat_request.h"
#include "gateway/json_fields.h"
#include "gateway/request_fields.h"

namespace corisco::gateway {

// What would change the draws or the form of the reply, and is not supported. As for what is: read_draws.
void refuse_unsupported_output(JsonFields& fields);
// The draws' limits, penalties and biases, min_tokens, stop_token_ids, ignore_eos, seed.
void read_draws(JsonFields& fields, const ChatLimits& limits, ChatRequest& request);
// read_draws, and n, stop, stream and its options, return_token_ids, prompt_logprobs, what the reply must be.
void read_openai_output(JsonFields& fields, const ChatLimits& limits, ChatRequest& request);
}  // namespace corisco::gateway
