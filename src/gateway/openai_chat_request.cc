// The chat completion's body.
#include <array>

#include "corisco/base/json.h"
#include "gateway/chat_messages.h"
#include "gateway/openai_chat.h"
#include "gateway/request_fields.h"

namespace corisco::gateway {
namespace {
bool is_zero(const Json& value) { return value.is_number() && value.get<double>() == 0; }
bool is_one(const Json& value) { return value.is_number() && value.get<double>() == 1; }
bool is_true(const Json& value) { return value == true; }
bool is_text_format(const Json& value) { return value.is_object() && value.value("type", Json()) == "text"; }
bool is_text_modality(const Json& value) { return value == Json::array({"text"}); }
bool is_free_choice(const Json& value) { return value == "auto" || value == "none"; }

// Each would change the result, and is not supported.
constexpr std::array kUnsupported = {
    Unsupported{"response_format", is_text_format},
    Unsupported{"tool_choice", is_free_choice},
    Unsupported{"functions", is_empty_or_false},
    Unsupported{"function_call", is_free_choice},
    Unsupported{"logit_bias", is_empty_or_false},
    Unsupported{"presence_penalty", is_zero},
    Unsupported{"frequency_penalty", is_zero},
    Unsupported{"repetition_penalty", is_one},
    Unsupported{"length_penalty", is_one},
    Unsupported{"modalities", is_text_modality},
    Unsupported{"audio", is_empty_or_false},
    Unsupported{"prediction", is_empty_or_false},
    Unsupported{"web_search_options", is_empty_or_false},
    Unsupported{"min_tokens", is_zero},
    Unsupported{"ignore_eos", is_empty_or_false},
    Unsupported{"bad_words", is_empty_or_false},
    Unsupported{"allowed_token_ids", is_empty_or_false},
    Unsupported{"best_of", is_one},
    Unsupported{"use_beam_search", is_empty_or_false},
    Unsupported{"echo", is_empty_or_false},
    Unsupported{"continue_final_message", is_empty_or_false},
    Unsupported{"chat_template", is_empty_or_false},
    Unsupported{"documents", is_empty_or_false},
    Unsupported{"guided_json", is_empty_or_false},
    Unsupported{"guided_regex", is_empty_or_false},
    Unsupported{"guided_choice", is_empty_or_false},
    Unsupported{"guided_grammar", is_empty_or_false},
    Unsupported{"structured_outputs", is_empty_or_false},
    Unsupported{"truncate_prompt_tokens", is_empty_or_false},
    Unsupported{"thinking_token_budget", is_empty_or_false},
    Unsupported{"include_stop_str_in_output", is_empty_or_false},
    Unsupported{"skip_special_tokens", is_true},
    Unsupported{"prompt_logprobs", is_empty_or_false},
    Unsupported{"return_tokens_as_token_ids", is_empty_or_false},
};

void read_stop_ids(JsonFields& fields, const ChatLimits& limits, ChatRequest& request) {
  const auto* ids = fields.find("stop_token_ids");
  if (ids == nullptr) return;
  if (!ids->is_array() || ids->size() > limits.stops_max) {
    fields.refuse("stop_token_ids", cat("must be a list of at most ", limits.stops_max, " token ids"));
    return;
  }
  for (const auto& id : *ids) {
    if (id.is_number_unsigned() && id.get<std::uint64_t>() <= 0x7fffffffU)
      request.stop_ids.push_back(id.get<TokenId>());
    else
      fields.refuse("stop_token_ids", "must hold token ids");
  }
}

void read_sampling(JsonFields& fields, ClientSampling& sampling) {
  read_draw_limits(fields, -1, sampling);   // -1 is vLLM's word for off
  sampling.min_p = fields.number("min_p", 0, 1);
  constexpr auto kSeedMax = std::numeric_limits<std::int64_t>::max();
  sampling.seed = fields.integer("seed", -kSeedMax - 1, kSeedMax);
}

void read_output(JsonFields& fields, const ChatLimits& limits, ChatRequest& request) {
  const auto new_name = fields.integer("max_completion_tokens", 1, 0x7fffffff);
  const auto old_name = fields.integer("max_tokens", 1, 0x7fffffff);
  if (const auto max = new_name ? new_name : old_name) request.max_tokens = static_cast<std::uint32_t>(*max);
  request.num_choices = static_cast<std::uint32_t>(fields.integer("n", 1, limits.choices_max).value_or(1));
  request.returns_logprobs = fields.flag("logprobs", false);
  const auto top = fields.integer("top_logprobs", 0, 20).value_or(0);
  if (top > 0 && !request.returns_logprobs) fields.refuse("top_logprobs", "needs 'logprobs' to be true");
  request.top_logprobs = static_cast<std::uint32_t>(top);
  request.returns_token_ids = fields.flag("return_token_ids", false);
  request.is_stream = fields.flag("stream", false);
  if (const auto* options = fields.find("stream_options")) {
    if (!options->is_object() || !request.is_stream) {
      fields.refuse("stream_options", "must be an object, and needs 'stream' to be true");
      return;
    }
    JsonFields inner(*options);
    request.includes_usage = inner.flag("include_usage", false);
    if (inner.problem()) fields.refuse("stream_options.include_usage", "must be true or false");
  }
}

void read_tools(JsonFields& fields, const ChatLimits& limits, ChatRequest& request) {
  if (const auto* tools = read_tools_list(fields, limits)) request.tools_json = json_text(*tools);
  const auto* choice = fields.find("tool_choice");
  request.reads_tool_calls = choice == nullptr || *choice != "none";
  request.adds_generation_prompt = fields.flag("add_generation_prompt", true);
  read_template_kwargs(fields, request);
}

std::optional<ApiError> read_messages(JsonFields& fields, const ChatLimits& limits, ChatRequest& request) {
  const auto* messages = read_messages_list(fields, limits);
  if (messages == nullptr) return fields.problem();
  request.sent_messages_json = json_text(*messages);
  auto normalised = *messages;
  if (auto error = normalise_messages(normalised)) return error;
  request.messages_json = json_text(normalised);
  return std::nullopt;
}
}  // namespace

OrApiError<ChatRequest> parse_openai_chat(std::string_view body, const ChatLimits& limits) {
  auto parsed = parse_json_object(body);
  if (auto* error = std::get_if<ApiError>(&parsed)) return std::move(*error);
  JsonFields fields(std::get<Json>(parsed));
  ChatRequest request;
  read_model(fields, request);
  if (auto error = read_messages(fields, limits, request)) return std::move(*error);
  refuse_unsupported(fields, kUnsupported);
  read_tools(fields, limits, request);
  read_output(fields, limits, request);
  read_stop_strings(fields, "stop", limits, request);
  read_stop_ids(fields, limits, request);
  read_sampling(fields, request.sampling);
  if (fields.problem()) return *fields.problem();
  return request;
}
}  // namespace corisco::gateway
