// The body of Anthropic's messages and count_tokens.
#include <array>

#include "corisco/base/json.h"
#include "gateway/anthropic_history.h"
#include "gateway/anthropic_messages.h"
#include "gateway/reply_form_fields.h"
#include "gateway/request_fields.h"

namespace corisco::gateway {
namespace {
// Each would change the result, and is not supported. Thinking and effort are the model's affair,
// and context_management would only shorten what the client sends anyway: all three are ignored.
constexpr std::array kUnsupported = {
    Unsupported{"mcp_servers", is_empty_or_false},
    Unsupported{"container", is_empty_or_false},
};

// With the system prompt in front, since a record has one list.
std::string as_sent(const Json* system, const Json& messages) {
  Json sent = Json::array();
  if (system != nullptr) sent.push_back({{"role", "system"}, {"content", *system}});
  sent.insert(sent.end(), messages.begin(), messages.end());
  return json_text(sent);
}

std::optional<ApiError> read_conversation(JsonFields& fields, const ChatLimits& limits, ChatRequest& request) {
  const auto* messages = read_messages_list(fields, limits);
  if (messages == nullptr) return fields.problem();
  const auto* system = fields.find("system");
  Json native = Json::array();
  if (auto error = add_native_messages(system, *messages, native)) return error;
  request.messages_json = json_text(native);
  request.sent_messages_json = as_sent(system, *messages);
  return std::nullopt;
}

std::optional<ApiError> read_tools(JsonFields& fields, const ChatLimits& limits, ChatRequest& request) {
  const auto* tools = read_tools_list(fields, limits);
  if (tools == nullptr) return std::nullopt;
  Json native = Json::array();
  if (auto error = add_native_tools(*tools, native)) return error;
  if (!native.empty()) request.tools_json = json_text(native);
  for (const auto& tool : *tools) note_strict_tool(tool, request);
  request.num_tools_left_out = static_cast<std::uint32_t>(tools->size() - native.size());
  const auto* choice = fields.find("tool_choice");
  request.reads_tool_calls = choice == nullptr || !choice->is_object() || choice->value("type", Json()) != "none";
  return std::nullopt;
}

OrApiError<ChatRequest> read_request(JsonFields& fields, const ChatLimits& limits) {
  ChatRequest request;
  read_model(fields, request);
  if (auto error = read_conversation(fields, limits, request)) return std::move(*error);
  if (auto error = read_tools(fields, limits, request)) return std::move(*error);
  read_anthropic_tool_choice(fields, request);
  read_anthropic_form(fields, request);
  refuse_unsupported(fields, kUnsupported);
  read_template_kwargs(fields, request);
  // Anthropic insists on max_tokens; here the run has a value for who sends none.
  if (const auto max = fields.integer("max_tokens", 1, 0x7fffffff))
    request.max_tokens = static_cast<std::uint32_t>(*max);
  request.is_stream = fields.flag("stream", false);
  read_stop_strings(fields, "stop_sequences", limits, request);
  read_draw_limits(fields, 0, request.sampling);
  if (fields.problem()) return *fields.problem();
  return request;
}

// Anthropic's older models go on writing such a message. Nobody may take a new one for it.
bool ends_with_a_reply(const JsonFields& fields) {
  const auto* messages = fields.find("messages");
  return messages != nullptr && !messages->empty() && messages->back().value("role", "") == "assistant";
}
}  // namespace

OrApiError<ChatRequest> parse_anthropic_count(const RequestBody& body, const ChatLimits& limits) {
  const auto parsed = body.json();
  if (const auto* error = std::get_if<ApiError>(parsed.get())) return *error;
  JsonFields fields(std::get<Json>(*parsed));
  return read_request(fields, limits);
}

OrApiError<ChatRequest> parse_anthropic_messages(const RequestBody& body, const ChatLimits& limits) {
  const auto parsed = body.json();
  if (const auto* error = std::get_if<ApiError>(parsed.get())) return *error;
  JsonFields fields(std::get<Json>(*parsed));
  auto request = read_request(fields, limits);
  if (std::holds_alternative<ChatRequest>(request) && ends_with_a_reply(fields))
    return invalid_request("'messages': this model does not support assistant message prefill; the "
                           "conversation must end with a user message", "messages", "unsupported_prefill");
  return request;
}
}  // namespace corisco::gateway
