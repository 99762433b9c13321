#include "gateway/openai_fields.h"

#include <array>

namespace corisco::gateway {
namespace {
bool is_one(const Json& value) { return value.is_number() && value.get<double>() == 1; }
bool is_true(const Json& value) { return value == true; }
}  // namespace

bool is_zero(const Json& value) { return value.is_number() && value.get<double>() == 0; }
bool is_text_format(const Json& value) { return value.is_object() && value.value("type", Json()) == "text"; }

void refuse_unsupported_output(JsonFields& fields) {
  static constexpr std::array kUnsupported = {
      Unsupported{"logit_bias", is_empty_or_false},
      Unsupported{"presence_penalty", is_zero},
      Unsupported{"frequency_penalty", is_zero},
      Unsupported{"repetition_penalty", is_one},
      Unsupported{"length_penalty", is_one},
      Unsupported{"min_tokens", is_zero},
      Unsupported{"ignore_eos", is_empty_or_false},
      Unsupported{"bad_words", is_empty_or_false},
      Unsupported{"allowed_token_ids", is_empty_or_false},
      Unsupported{"best_of", is_one},
      Unsupported{"use_beam_search", is_empty_or_false},
      Unsupported{"echo", is_empty_or_false},
      Unsupported{"guided_json", is_empty_or_false},
      Unsupported{"guided_regex", is_empty_or_false},
      Unsupported{"guided_choice", is_empty_or_false},
      Unsupported{"guided_grammar", is_empty_or_false},
      Unsupported{"structured_outputs", is_empty_or_false},
      Unsupported{"truncate_prompt_tokens", is_empty_or_false},
      Unsupported{"include_stop_str_in_output", is_empty_or_false},
      Unsupported{"skip_special_tokens", is_true},
      Unsupported{"prompt_logprobs", is_empty_or_false},
      Unsupported{"return_tokens_as_token_ids", is_empty_or_false},
  };
  refuse_unsupported(fields, kUnsupported);
}

namespace {
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

void read_stream(JsonFields& fields, ChatRequest& request) {
  request.is_stream = fields.flag("stream", false);
  const auto* options = fields.find("stream_options");
  if (options == nullptr) return;
  if (!options->is_object() || !request.is_stream) {
    fields.refuse("stream_options", "must be an object, and needs 'stream' to be true");
    return;
  }
  JsonFields inner(*options);
  request.includes_usage = inner.flag("include_usage", false);
  if (inner.problem()) fields.refuse("stream_options.include_usage", "must be true or false");
}
}  // namespace

void read_openai_output(JsonFields& fields, const ChatLimits& limits, ChatRequest& request) {
  request.num_choices = static_cast<std::uint32_t>(fields.integer("n", 1, limits.choices_max).value_or(1));
  request.returns_token_ids = fields.flag("return_token_ids", false);
  read_stream(fields, request);
  read_stop_strings(fields, "stop", limits, request);
  read_stop_ids(fields, limits, request);
  read_sampling(fields, request.sampling);
}
}  // namespace corisco::gateway
