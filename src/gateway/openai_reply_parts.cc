#include "gateway/openai_reply_parts.h"

#include "corisco/base/json.h"
#include "gateway/wire_format.h"

namespace corisco::gateway {
std::string stream_event(const Json& value) { return cat("data: ", json_text(value), "\n\n"); }

Json reply_base(const std::string& id, const char* object, std::int64_t created, const std::string& model) {
  return {{"id", id}, {"object", object}, {"created", created}, {"model", model}};
}

Json ids_of(const std::vector<SampledToken>& tokens) {
  Json ids = Json::array();
  for (const auto& token : tokens) ids.push_back(token.id);
  return ids;
}

Json usage_json(const Usage& usage) {
  return {{"prompt_tokens", usage.prompt_tokens},
          {"completion_tokens", usage.completion_tokens},
          {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
          {"prompt_tokens_details", {{"cached_tokens", 0}}},
          {"completion_tokens_details", {{"reasoning_tokens", usage.reasoning_tokens}}}};
}

ApiError prompt_too_long(std::size_t prompt_tokens, std::uint32_t context_tokens_max, const char* param,
                         const char* what) {
  return invalid_request(cat("This model's maximum context length is ", context_tokens_max,
                             " tokens. However, your request has ", prompt_tokens,
                             " input tokens. Please reduce the length of the input ", what, "."),
                         param, kContextOverflow);
}
}  // namespace corisco::gateway
