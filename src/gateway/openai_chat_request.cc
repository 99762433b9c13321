// The chat completion's body.
#include <array>

#include "corisco/base/json.h"
#include "gateway/chat_messages.h"
#include "gateway/openai_chat.h"
#include "gateway/openai_fields.h"
#include "gateway/reply_form_fields.h"

namespace corisco::gateway {
namespace {
bool is_text_modality(const Json& value) { return value == Json::array({"text"}); }
bool is_free_choice(const Json& value) { return value == "auto" || value == "none"; }

// Of the conversation; each would change the result, and is not supported.
constexpr std::array kUnsupported = {
    Unsupported{"functions", is_empty_or_false},
    Unsupported{"function_call", is_free_choice},
    Unsupported{"modalities", is_text_modality},
    Unsupported{"audio", is_empty_or_false},
    Unsupported{"prediction", is_empty_or_false},
    Unsupported{"web_search_options", is_empty_or_false},
    Unsupported{"continue_final_message", is_empty_or_false},
    Unsupported{"add_special_tokens", is_empty_or_false},
    Unsupported{"chat_template", is_empty_or_false},
    Unsupported{"documents", is_empty_or_false},
    Unsupported{"thinking_token_budget", is_empty_or_false},
    Unsupported{"echo", is_empty_or_false},
};

void read_length_and_logprobs(JsonFields& fields, ChatRequest& request) {
  const auto new_name = fields.integer("max_completion_tokens", 1, 0x7fffffff);
  const auto old_name = fields.integer("max_tokens", 1, 0x7fffffff);
  if (const auto max = new_name ? new_name : old_name) request.max_tokens = static_cast<std::uint32_t>(*max);
  request.returns_logprobs = fields.flag("logprobs", false);
  const auto top = fields.integer("top_logprobs", 0, 20).value_or(0);
  if (top > 0 && !request.returns_logprobs) fields.refuse("top_logprobs", "needs 'logprobs' to be true");
  request.top_logprobs = static_cast<std::uint32_t>(top);
}

void read_tools(JsonFields& fields, const ChatLimits& limits, ChatRequest& request) {
  if (const auto* tools = read_tools_list(fields, limits)) {
    request.tools_json = json_text(*tools);
    for (const auto& tool : *tools)
      if (const auto* function = tool.is_object() ? JsonFields(tool).find("function") : nullptr)
        note_strict_tool(*function, request);
  }
  read_chat_tool_choice(fields, request);
  const auto* choice = fields.find("tool_choice");
  request.reads_tool_calls = choice == nullptr || *choice != "none";
  request.adds_generation_prompt = fields.flag("add_generation_prompt", true);
  read_template_kwargs(fields, request);
}

std::optional<ApiError> read_messages(JsonFields& fields, const ChatLimits& limits, ChatRequest& request) {
  const auto* messages = read_messages_list(fields, limits);
  if (messages == nullptr) return fields.problem();
  request.sent_messages_json = json_text(*messages);
  if (are_normal(*messages)) {
    request.messages_json = request.sent_messages_json;
    return std::nullopt;
  }
  auto normalised = *messages;
  if (auto error = normalise_messages(normalised)) return error;
  request.messages_json = json_text(normalised);
  return std::nullopt;
}
}  // namespace

OrApiError<ChatRequest> parse_openai_chat(const RequestBody& body, const ChatLimits& limits) {
  const auto parsed = body.json();
  if (const auto* error = std::get_if<ApiError>(parsed.get())) return *error;
  JsonFields fields(std::get<Json>(*parsed));
  ChatRequest request;
  read_model(fields, request);
  if (auto error = read_messages(fields, limits, request)) return std::move(*error);
  refuse_unsupported(fields, kUnsupported);
  refuse_unsupported_output(fields);
  read_tools(fields, limits, request);
  read_length_and_logprobs(fields, request);
  read_openai_output(fields, limits, request);
  if (fields.problem()) return *fields.problem();
  return request;
}
}  // namespace corisco::gateway
