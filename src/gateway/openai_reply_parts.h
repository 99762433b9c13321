// What the replies of OpenAI's APIs have in common, as JSON. Pure; .cc files of the edge include it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gateway/chat_reply.h"
#include "gateway/json_fields.h"

namespace corisco::gateway {
inline constexpr const char* kStreamDone = "data: [DONE]\n\n";

// One event of a stream.
std::string stream_event(const Json& value);
Json reply_base(const std::string& id, const char* object, std::int64_t created, const std::string& model);
Json ids_of(const std::vector<SampledToken>& tokens);
// With the details that clients parse. No token counts as cached: prompts are billed to nobody.
Json usage_json(const Usage& usage);
// The text of a prompt that leaves no room, by which agents know to compact. what: what to shorten.
ApiError prompt_too_long(std::size_t prompt_tokens, std::uint32_t context_tokens_max, const char* param,
                         const char* what);
}  // namespace corisco::gateway
