// The completion's body.
#include <array>

#include "corisco/base/json.h"
#include "gateway/openai_completions.h"
#include "gateway/openai_fields.h"

namespace corisco::gateway {
namespace {
// Each would change the result, and is not supported.
constexpr std::array kUnsupported = {
    Unsupported{"suffix", is_empty_or_false},
    Unsupported{"prompt_embeds", is_empty_or_false},
};

void read_ids(JsonFields& fields, const Json& ids, ChatRequest& request) {
  for (const auto& id : ids) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() > 0x7fffffffU) {
      fields.refuse("prompt", "must be a string or a list of token ids");
      return;
    }
    request.prompt_ids.push_back(id.get<TokenId>());
  }
}

// A text, or a list of ids; or a list of one of these.
void read_prompt(JsonFields& fields, ChatRequest& request) {
  const auto* prompt = fields.find("prompt");
  if (prompt == nullptr) {
    fields.refuse("prompt", "is missing");
    return;
  }
  const bool is_list = prompt->is_array() && !prompt->empty();
  const bool is_list_of_prompts = is_list && (prompt->front().is_string() || prompt->front().is_array());
  if (is_list_of_prompts && prompt->size() > 1) {
    fields.refuse("prompt", "holds several prompts; send each in a request of its own", "unsupported_parameter");
    return;
  }
  const Json& one = is_list_of_prompts ? prompt->front() : *prompt;
  if (one.is_string()) request.prompt_text = one.get<std::string>();
  else if (one.is_array() && !one.empty()) read_ids(fields, one, request);
  else fields.refuse("prompt", "must be a string or a list of token ids, and not empty");
  request.sent_messages_json = json_text(Json::array({{{"role", "user"}, {"content", one}}}));
}
}  // namespace

OrApiError<ChatRequest> parse_openai_completion(const RequestBody& body, const ChatLimits& limits) {
  const auto parsed = body.json();
  if (const auto* error = std::get_if<ApiError>(parsed.get())) return *error;
  JsonFields fields(std::get<Json>(*parsed));
  ChatRequest request;
  read_model(fields, request);
  read_prompt(fields, request);
  refuse_unsupported(fields, kUnsupported);
  refuse_unsupported_output(fields);
  request.adds_prompt_prefix = fields.flag("add_special_tokens", true);
  request.echoes_prompt = fields.flag("echo", false);
  // OpenAI's way to score a prompt.
  if (const auto max = fields.integer("max_tokens", request.echoes_prompt ? 0 : 1, 0x7fffffff))
    request.max_tokens = static_cast<std::uint32_t>(*max);
  const auto logprobs = fields.integer("logprobs", 0, 20);
  request.returns_logprobs = logprobs.has_value();
  request.top_logprobs = static_cast<std::uint32_t>(logprobs.value_or(0));
  read_openai_output(fields, limits, request);
  if (fields.problem()) return *fields.problem();
  return request;
}
}  // namespace corisco::gateway
