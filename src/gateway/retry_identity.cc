#include "gateway/retry_identity.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <vector>

#include "corisco/base/files.h"
#include "corisco/base/strings.h"
#include "gateway/ascii.h"
#include "gateway/openai_responses.h"

namespace corisco::gateway {
namespace {
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
}  // namespace

bool RequestIdentity::allows_more_than(const RequestIdentity& other) const {
  if (format != other.format || question != other.question || !other.max_tokens) return false;
  return !max_tokens || *max_tokens > *other.max_tokens;
}

RequestIdentity identity_of(const ChatRequest& request, const WireFormat& format) {
  Values values;
  for (const std::string* text : {&request.model, &request.messages_json, &request.sent_messages_json,
                                  &request.tools_json, &request.template_kwargs_json})
    values.add(std::string_view(*text));
  values.add(std::uint64_t{request.prompt_text.has_value()});
  values.add(std::string_view(request.prompt_text ? *request.prompt_text : std::string_view()));
  values.add(request.prompt_ids);
  for (const bool flag : {request.adds_prompt_prefix, request.reads_tool_calls, request.adds_generation_prompt,
                          request.returns_token_ids, request.returns_logprobs})
    values.add(std::uint64_t{flag});
  values.add(std::uint64_t{request.top_logprobs});
  values.add(std::uint64_t{request.num_choices});
  values.add(request.stop_strings);
  values.add(request.stop_ids);
  const auto& sampling = request.sampling;
  values.add(sampling.temperature), values.add(sampling.top_p), values.add(sampling.min_p);
  values.add(sampling.top_k), values.add(sampling.seed);
  if (request.responses) values.add(std::string_view(request.responses->previous_response_id));
  return {&format, values.digest(), request.max_tokens};
}

bool has_retry_marks(const Head& head) {
  const auto* count = head.field("x-stainless-retry-count");
  if (count == nullptr) return false;
  auto digits = std::string_view(*count);
  std::uint64_t number = 0;
  return ascii::take_number(digits, number) && digits.empty() && number > 0;
}
}  // namespace corisco::gateway
