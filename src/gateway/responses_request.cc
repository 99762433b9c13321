// The body of a Responses request.
#include <array>

#include "corisco/base/json.h"
#include "gateway/openai_fields.h"
#include "gateway/openai_responses.h"
#include "gateway/reply_form_fields.h"
#include "gateway/responses_history.h"
#include "gateway/subagent_marks.h"

namespace corisco::gateway {
namespace {
// Each would change the result, and is not supported. Reasoning effort and verbosity are the model's
// affair, truncation and context_management would only shorten what the client sends anyway, and
// max_tool_calls counts calls of tools that are not there: all are ignored.
constexpr std::array kUnsupported = {
    Unsupported{"background", is_empty_or_false},
    Unsupported{"conversation", is_empty_or_false},
    Unsupported{"prompt", is_empty_or_false},
    Unsupported{"prompt_logprobs", is_empty_or_false},
    Unsupported{"echo", is_empty_or_false},
};

// What else a response could include comes from tools and pictures that are not there.
void read_include(JsonFields& fields, ChatRequest& request) {
  const auto* include = fields.find("include");
  const Json none = Json::array();
  if (include != nullptr && !include->is_array()) fields.refuse("include", "must be a list");
  for (const auto& name : include == nullptr ? none : *include) {
    if (name == "reasoning.encrypted_content") request.responses->seals_reasoning = true;
    if (name == "message.output_text.logprobs") request.returns_logprobs = true;
  }
  const auto top = static_cast<std::uint32_t>(fields.integer("top_logprobs", 0, 20).value_or(0));
  if (request.returns_logprobs) request.top_logprobs = top;   // alternatives of what nobody sees: none
  request.responses->repeated["top_logprobs"] = top;
}

void read_metadata(JsonFields& fields, Json& repeated) {
  constexpr std::size_t kPairsMax = 16, kBytesMax = 16U << 10;   // a response shows them in each of its states
  const auto* metadata = fields.find("metadata");
  repeated["metadata"] = Json::object();
  if (metadata == nullptr) return;
  if (!metadata->is_object() || metadata->size() > kPairsMax || json_text(*metadata).size() > kBytesMax)
    fields.refuse("metadata", cat("must be an object of at most ", kPairsMax, " short members"));
  else
    repeated["metadata"] = *metadata;
}

Json or_null(const Json* value) { return value == nullptr ? Json() : *value; }

void read_repeated(JsonFields& fields, const ChatRequest& request, Json& repeated) {
  const auto& sampling = request.sampling;
  const auto number = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
  repeated["instructions"] = nullptr;    // long, and the client's own, as the tools are
  repeated["tools"] = Json::array();
  const auto free_choice = request.reads_tool_calls ? "auto" : "none";
  repeated["tool_choice"] = request.forced_call.is_forced ? *fields.find("tool_choice") : Json(free_choice);
  repeated["parallel_tool_calls"] = fields.flag("parallel_tool_calls", true);
  repeated["max_output_tokens"] = request.max_tokens ? Json(*request.max_tokens) : Json();
  repeated["temperature"] = number(sampling.temperature);
  repeated["top_p"] = number(sampling.top_p);
  repeated["previous_response_id"] = or_null(fields.find("previous_response_id"));
  repeated["store"] = request.responses->is_stored;
  const auto* reasoning = fields.find("reasoning");
  const auto* effort = reasoning != nullptr && reasoning->is_object() ? JsonFields(*reasoning).find("effort") : nullptr;
  const bool has_effort = effort != nullptr && effort->is_string();
  repeated["reasoning"] = {{"effort", has_effort ? *effort : Json()}, {"summary", nullptr}};
  const Json text_format = {{"type", "text"}};
  const bool has_form = request.form.kind != ReplyForm::Kind::free;
  repeated["text"] = {{"format", has_form ? fields.find("text")->at("format") : text_format}};
  repeated["truncation"] = "disabled";
  read_metadata(fields, repeated);
}

// The items. A string is a user's message, which is put into made.
const Json& read_input(JsonFields& fields, const ChatLimits& limits, Json& made) {
  const auto items_max = limits.messages_max * 4;   // a message may be several items
  const auto* input = fields.find("input");
  made = Json::array();
  if (input != nullptr && input->is_string()) {
    made.push_back({{"type", "message"}, {"role", "user"}, {"content", *input}});
    return made;
  }
  const bool is_list = input != nullptr && input->is_array() && !input->empty();
  if (!is_list) fields.refuse("input", "must be a string or a non-empty list");
  else if (input->size() > items_max) fields.refuse("input", cat("holds more than ", items_max, " items"));
  return is_list ? *input : made;
}

// The items' texts, for later requests that go on from this one, and for this one if it goes on from
// an earlier one.
void keep_items(const Json& items, ResponsesTurn& turn) {
  for (std::size_t i = 0; i < items.size(); ++i)
    if (auto id = referenced_item(items[i]); !id.empty()) turn.references.emplace_back(i, std::move(id));
  if (!turn.is_stored && !turn.needs_earlier()) return;
  for (const auto& item : items) turn.input.push_back(std::make_shared<const std::string>(json_text(item)));
}

// With the instructions in front, since a record has one list.
std::string as_sent(const std::string& instructions, const Json& items) {
  auto sent = json_text(items);
  const Json first = {{"role", "system"}, {"content", instructions}};
  if (!instructions.empty()) sent.insert(1, json_text(first) + ",");
  return sent;
}

std::optional<ApiError> read_conversation(JsonFields& fields, const ChatLimits& limits, ChatRequest& request) {
  auto& turn = *request.responses;
  Json made;
  const auto& items = read_input(fields, limits, made);
  turn.instructions = fields.text("instructions");
  turn.previous_response_id = fields.text("previous_response_id");
  turn.is_stored = fields.flag("store", true);
  if (fields.problem()) return fields.problem();
  auto native = native_conversation(turn.instructions, items, turn.tools);
  if (auto* error = std::get_if<ApiError>(&native)) return std::move(*error);
  keep_items(items, turn);
  if (!turn.needs_earlier()) request.messages_json = json_text(std::get<Json>(native));
  request.sent_messages_json = as_sent(turn.instructions, items);
  return std::nullopt;
}

std::optional<ApiError> read_tools(JsonFields& fields, const ChatLimits& limits, ChatRequest& request) {
  const auto* choice = fields.find("tool_choice");
  request.reads_tool_calls = choice == nullptr || *choice != "none";
  const auto* tools = read_tools_list(fields, limits);
  if (tools == nullptr) return std::nullopt;
  request.responses->tools = ResponsesTools(limits.tools_max);
  Json native = Json::array();
  if (auto error = request.responses->tools.read(*tools, native)) return error;
  if (!native.empty()) request.tools_json = json_text(native);
  request.strict_tools = request.responses->tools.strict_names();
  request.num_tools_left_out = request.responses->tools.num_left_out();
  return std::nullopt;
}
}  // namespace

OrApiError<ChatRequest> parse_openai_responses(const RequestBody& body, const ChatLimits& limits) {
  const auto parsed = body.json();
  if (const auto* error = std::get_if<ApiError>(parsed.get())) return *error;
  JsonFields fields(std::get<Json>(*parsed));
  ChatRequest request;
  request.responses = std::make_shared<ResponsesTurn>();
  read_model(fields, request);
  // First, since calls among the items are named as the tools are.
  if (auto error = read_tools(fields, limits, request)) return std::move(*error);
  if (auto error = read_conversation(fields, limits, request)) return std::move(*error);
  refuse_unsupported(fields, kUnsupported);
  refuse_unsupported_output(fields);
  read_responses_form(fields, request);
  read_responses_tool_choice(fields, request);
  read_include(fields, request);
  request.is_subagents = is_from_subagent(fields.find("client_metadata"));
  read_template_kwargs(fields, request);
  if (const auto max = fields.integer("max_output_tokens", 1, 0x7fffffff))
    request.max_tokens = static_cast<std::uint32_t>(*max);
  request.is_stream = fields.flag("stream", false);
  read_stop_strings(fields, "stop", limits, request);
  read_draws(fields, limits, request);
  read_repeated(fields, request, request.responses->repeated);
  if (fields.problem()) return *fields.problem();
  return request;
}
}  // namespace corisco::gateway
