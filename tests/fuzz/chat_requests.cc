// Bodies of every wire format: a refusal that says why and nothing of the body, or a request whose
// native form the template can take, the same each time.
#include <nlohmann/json.hpp>

#include "corisco/base/json.h"
#include "fuzz/fuzz.h"
#include "gateway/anthropic_messages.h"
#include "gateway/wire_format.h"

namespace corisco::gateway {
namespace {
using fuzz::require;
using nlohmann::ordered_json;
using Parsed = OrApiError<ChatRequest>;
constexpr ChatLimits kLimits{.choices_max = 4, .messages_max = 16, .tools_max = 8, .stops_max = 4};

void check_error(const ApiError& error) {
  require(error.status >= 400 && error.status < 500, "status ", error.status, ": ", error.message);
  require(!error.message.empty() && !error.code.empty() && !error.type.empty(), "an empty part of an error");
  require(error.message.size() < 2048, "a message of ", error.message.size(), " bytes");
  for (const auto shape : {ErrorShape::openai, ErrorShape::anthropic}) {
    const auto json = parse_json(to_json(error, shape));
    require(json.is_object() && json["error"].is_object() && json["error"]["message"].is_string(), "an error's shape");
    require(status_in(shape, error) >= 400, "an error's status");
  }
}

void check_message(const ordered_json& message) {
  require(message.is_object() && message.contains("role") && message["role"].is_string(), "a message without a role");
  if (!message.contains("content")) return;
  require(message["content"].is_string() || message["content"].is_null(), "content that is no text");
}

void check_request(const ChatRequest& request) {
  const auto messages = parse_ordered_json(request.messages_json);
  if (request.messages_json.empty()) return;   // a format without messages
  require(messages.is_array() && messages.size() <= 4 * kLimits.messages_max * 64, "messages that are no list");
  for (const auto& message : messages) check_message(message);
  require(!parse_ordered_json(request.sent_messages_json).is_discarded(), "what was sent is no JSON");
  require(request.tools_json.empty() || parse_ordered_json(request.tools_json).is_array(), "tools that are no list");
  const auto& kwargs = request.template_kwargs_json;
  require(kwargs.empty() || parse_ordered_json(kwargs).is_object(), "template arguments that are no object");
  require(request.num_choices >= 1 && request.num_choices <= kLimits.choices_max, "choices");
  require(!request.max_tokens || *request.max_tokens >= 1, "max_tokens");
  require(request.stop_strings.size() <= kLimits.stops_max && request.stop_ids.size() <= kLimits.stops_max, "stops");
  for (const auto& stop : request.stop_strings) require(!stop.empty(), "an empty stop string");
  const auto& sampling = request.sampling;
  require(!sampling.temperature || (*sampling.temperature >= 0 && *sampling.temperature <= 10), "temperature");
  require(!sampling.top_p || (*sampling.top_p > 0 && *sampling.top_p <= 1), "top_p");
}

void check(const Parsed& parsed) {
  if (const auto* error = std::get_if<ApiError>(&parsed)) check_error(*error);
  else check_request(std::get<ChatRequest>(parsed));
}

bool is_same(const Parsed& a, const Parsed& b) {
  const auto* left = std::get_if<ChatRequest>(&a);
  const auto* right = std::get_if<ChatRequest>(&b);
  if (left == nullptr || right == nullptr) return left == right;
  return left->messages_json == right->messages_json && left->tools_json == right->tools_json &&
         left->sent_messages_json == right->sent_messages_json && left->max_tokens == right->max_tokens &&
         left->stop_strings == right->stop_strings && left->is_stream == right->is_stream;
}

// How the members are spaced and escaped says nothing.
void check_printed_again(std::string_view body, const Parsed& parsed, const WireFormat& format) {
  const auto json = parse_ordered_json(body);
  if (std::holds_alternative<ChatRequest>(parsed))
    require(is_same(format.parse(json_text(json, 1), kLimits), parsed), "another request when printed again");
}
}  // namespace
}  // namespace corisco::gateway

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace corisco::gateway;
  const std::string body(corisco::fuzz::Input(data, size).rest(8192));
  for (int kind = 0; kind <= static_cast<int>(RouteKind::unknown); ++kind) {
    const auto* format = wire_format_of(static_cast<RouteKind>(kind));
    if (format == nullptr) continue;
    const auto parsed = format->parse(body, kLimits);
    check(parsed);
    check_printed_again(body, parsed, *format);
  }
  // Whatever can be sent can be counted.
  const auto counted = parse_anthropic_count(body, kLimits);
  check(counted);
  const auto sent = parse_anthropic_messages(body, kLimits);
  if (std::holds_alternative<ChatRequest>(sent))
    corisco::fuzz::require(is_same(sent, counted), "count_tokens reads another conversation");
  return 0;
}
