// Replies as each family's parser reads them: nothing is lost, nothing invented, however they are cut.
#include "corisco/base/json.h"
#include "fuzz/reply_log.h"

namespace corisco::gateway::tool_calls {
namespace {
constexpr const char* kFamilies[] = {"hermes",      "qwen3_coder", "llama3_json", "mistral",
                                     "deepseek_v3", "glm45",       "pythonic",    "deepseek_v32",
                                     "kimi_k2",     "gemma",       "openai"};
constexpr const char* kTools = R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object",
  "properties": {"a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": "array"},
                 "d": {"anyOf": [{"type": "null"}, {"type": "number"}]}}}}}])";

void check(const char* family, std::string_view reply, std::uint32_t seed) {
  static const auto tools = parse_ordered_json(kTools);
  const auto make = [&] { return std::move(make_tool_parser(family, tools)).value(); };
  const auto log = read_every_way(make, reply, seed);
  const bool drops_heads = std::string_view(family) == "openai";   // of messages that are text
  fuzz::require(drops_heads || log.num_calls() > 0 || log.shown() == reply, family, " lost text: ", log.shown());
}
}  // namespace
}  // namespace corisco::gateway::tool_calls

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace corisco::gateway::tool_calls;
  corisco::fuzz::Input input(data, size);
  const auto* family = kFamilies[input.below(std::size(kFamilies))];
  const auto seed = input.byte();
  check(family, corisco::fuzz::as_utf8(input.rest(2048)), seed);   // as the detokenizer gives it
  return 0;
}
