#include "gateway/openai_fields.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "gateway/reply_form_fields.h"

namespace corisco::gateway {
namespace {
bool is_one(const Json& value) { return value.is_number() && value.get<double>() == 1; }
bool is_true(const Json& value) { return value == true; }
}  // namespace


void refuse_unsupported_output(JsonFields& fields) {
  static constexpr std::array kUnsupported = {
      Unsupported{"length_penalty", is_one},
      Unsupported{"bad_words", is_empty_or_false},
      Unsupported{"allowed_token_ids", is_empty_or_false},
      Unsupported{"best_of", is_one},
      Unsupported{"use_beam_search", is_empty_or_false},
      Unsupported{"truncate_prompt_tokens", is_empty_or_false},
      Unsupported{"include_stop_str_in_output", is_empty_or_false},
      Unsupported{"skip_special_tokens", is_true},
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

// "42" and no other way to write it: two biases of one token have no meaning.
std::optional<TokenId> id_of(const std::string& name) {
  TokenId id = -1;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), id);
  const bool is_id = problem == std::errc() && end == name.data() + name.size() && id >= 0 && cat(id) == name;
  return is_id ? std::optional(id) : std::nullopt;
}

// {"token id": bias}. A bias of 0 is none.
void read_logit_bias(JsonFields& fields, ClientSampling& sampling) {
  constexpr double kBiasMax = 100;
  const auto* biases = fields.find("logit_bias");
  if (biases == nullptr) return;
  if (!biases->is_object()) {
    fields.refuse("logit_bias", "must be an object of token ids and numbers");
    return;
  }
  for (const auto& [name, bias] : biases->items()) {
    const auto id = id_of(name);
    if (!id) fields.refuse("logit_bias", "must name tokens by their ids");
    else if (!bias.is_number() || !(std::abs(bias.get<double>()) <= kBiasMax))
      fields.refuse("logit_bias", cat("must hold numbers from -", kBiasMax, " to ", kBiasMax));
    else if (bias.get<double>() != 0) sampling.logit_bias.push_back({*id, bias.get<float>()});
  }
  std::ranges::sort(sampling.logit_bias, {}, &LogitBias::id);
}

void read_penalties(JsonFields& fields, ClientSampling& sampling) {
  sampling.repetition_penalty = fields.number("repetition_penalty", 0.01, 10);
  sampling.presence_penalty = fields.number("presence_penalty", -2, 2);
  sampling.frequency_penalty = fields.number("frequency_penalty", -2, 2);
}

void read_ends(JsonFields& fields, const ChatLimits& limits, ChatRequest& request) {
  read_stop_ids(fields, limits, request);
  if (const auto min = fields.integer("min_tokens", 0, 0x7fffffff)) {
    request.sampling.min_tokens = static_cast<std::uint32_t>(*min);
    if (request.max_tokens && request.sampling.min_tokens > request.max_tokens)
      fields.refuse("min_tokens", cat("must be at most the ", *request.max_tokens, " tokens that the reply may have"));
  }
  if (fields.find("ignore_eos") != nullptr) request.sampling.ignores_end = fields.flag("ignore_eos", false);
}

// A stream begins before they are known, so vLLM has none in it, and says so too.
void read_prompt_logprobs(JsonFields& fields, ChatRequest& request) {
  const auto num_top = fields.integer("prompt_logprobs", 0, 20);
  if (!num_top) return;
  request.prompt_logprobs = static_cast<std::uint32_t>(*num_top);
  if (request.is_stream)
    fields.refuse("prompt_logprobs", "is not available in a stream; ask without 'stream'", "unsupported_parameter");
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

void read_draws(JsonFields& fields, const ChatLimits& limits, ChatRequest& request) {
  auto& sampling = request.sampling;
  read_draw_limits(fields, -1, sampling);   // -1 is vLLM's word for off
  sampling.min_p = fields.number("min_p", 0, 1);
  constexpr auto kSeedMax = std::numeric_limits<std::int64_t>::max();
  sampling.seed = fields.integer("seed", -kSeedMax - 1, kSeedMax);
  read_penalties(fields, sampling);
  read_logit_bias(fields, sampling);
  read_ends(fields, limits, request);
}

void read_openai_output(JsonFields& fields, const ChatLimits& limits, ChatRequest& request) {
  request.num_choices = static_cast<std::uint32_t>(fields.integer("n", 1, limits.choices_max).value_or(1));
  request.returns_token_ids = fields.flag("return_token_ids", false);
  read_stream(fields, request);
  read_prompt_logprobs(fields, request);
  read_stop_strings(fields, "stop", limits, request);
  read_draws(fields, limits, request);
  read_openai_form(fields, request);
}
}  // namespace corisco::gateway
