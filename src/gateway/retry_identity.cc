#include "gateway/retry_identity.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <string_view>
#include <vector>

#include "corisco/base/files.h"
#include "corisco/base/strings.h"
#include "gateway/ascii.h"
#include "gateway/openai_responses.h"

namespace corisco::gateway {
namespace {
constexpr double kPatienceSecondsMax = 1e6;   // longer is no limit

// Values with their lengths, so that no two lists of values make the same text.
class Values {
 public:
  void add(std::string_view text) { text_ += cat(text.size(), ":", text); }
  void add(std::uint64_t number) { text_ += cat(number, ";"); }
  template <class T>
  void add(const std::optional<T>& value) {
    add(std::uint64_t{value.has_value()});
    if (value) add(bits(*value));
  }
  template <class T>
  void add(const std::vector<T>& list) {
    add(std::uint64_t{list.size()});
    for (const auto& one : list) {
      if constexpr (std::is_same_v<T, std::string>) add(std::string_view(one));
      else add(bits(one));
    }
  }
  std::string digest() const { return files::sha256(text_); }

 private:
  static std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }
  template <class T>
  static std::uint64_t bits(T value) { return static_cast<std::uint64_t>(value); }

  std::string text_;
};

// "600", "59.5"; clients without a limit write a word.
std::optional<double> seconds_of(const std::string& text) {
  double seconds = 0;
  const auto* end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, seconds);
  const bool is_one = problem == std::errc() && rest == end && seconds > 0 && seconds < kPatienceSecondsMax;
  return is_one ? std::optional(seconds) : std::nullopt;
}
}  // namespace

bool RequestIdentity::allows_more_than(const RequestIdentity& other) const {
  if (format != other.format || question != other.question || !other.max_tokens) return false;
  return !max_tokens || *max_tokens > *other.max_tokens;
}

RequestIdentity identity_of(const ChatRequest& request, const WireFormat& format) {
  Values values;
  for (const std::string* text :
       {&request.model, &request.messages_json, &request.tools_json, &request.template_kwargs_json})
    values.add(std::string_view(*text));
  // Long, and mostly as it was sent.
  const bool is_as_sent = request.sent_messages_json == request.messages_json;
  values.add(std::uint64_t{is_as_sent});
  if (!is_as_sent) values.add(std::string_view(request.sent_messages_json));
  values.add(std::uint64_t{request.prompt_text.has_value()});
  values.add(std::string_view(request.prompt_text ? *request.prompt_text : std::string_view()));
  values.add(request.prompt_ids);
  for (const bool flag : {request.adds_prompt_prefix, request.reads_tool_calls, request.adds_generation_prompt,
                          request.returns_token_ids, request.returns_logprobs, request.echoes_prompt})
    values.add(std::uint64_t{flag});
  values.add(std::uint64_t{request.top_logprobs});
  values.add(request.prompt_logprobs);
  values.add(std::uint64_t{request.num_choices});
  values.add(request.stop_strings);
  values.add(request.stop_ids);
  values.add(static_cast<std::uint64_t>(request.form.kind));
  values.add(std::string_view(request.form.text));
  values.add(request.form.choices);
  values.add(std::uint64_t{request.forced_call.is_forced});
  values.add(request.forced_call.names);
  values.add(request.strict_tools);
  values.add(std::uint64_t{request.form.is_strict} + 2 * std::uint64_t{request.allows_several_calls});
  const auto& sampling = request.sampling;
  values.add(sampling.temperature), values.add(sampling.top_p), values.add(sampling.min_p);
  values.add(sampling.top_k), values.add(sampling.seed);
  values.add(sampling.repetition_penalty), values.add(sampling.presence_penalty);
  values.add(sampling.frequency_penalty), values.add(sampling.min_tokens), values.add(sampling.ignores_end);
  for (const auto& [id, bias] : sampling.logit_bias)
    values.add(std::uint64_t{static_cast<std::uint32_t>(id)}), values.add(std::optional<double>(bias));
  if (request.responses) values.add(std::string_view(request.responses->previous_response_id));
  return {&format, values.digest(), request.max_tokens};
}

RetryMarks retry_marks_of(const Head& head) {
  RetryMarks marks;
  if (const auto* count = head.field("x-stainless-retry-count")) {
    auto digits = std::string_view(*count);
    std::uint64_t number = 0;
    marks.is_retry = ascii::take_number(digits, number) && digits.empty() && number > 0;
  }
  for (const char* name : {"x-stainless-timeout", "x-stainless-read-timeout"})
    if (const auto* text = head.field(name))
      if (const auto seconds = seconds_of(*text)) marks.patience_seconds = seconds;
  return marks;
}
}  // namespace corisco::gateway
