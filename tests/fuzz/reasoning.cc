// Reasoning at a reply's start, open or not, with and without calls after it.
#include <algorithm>

#include "corisco/base/json.h"
#include "fuzz/reply_log.h"

namespace corisco::gateway::tool_calls {
namespace {
struct Options {
  bool is_open, ends_at_call, has_calls;
};

void check(const Options& options, std::string_view reply, std::uint32_t seed) {
  ReasoningTags tags;
  if (options.ends_at_call) tags.implicit_end = "<tool_call>";
  const auto make = [&] {
    std::unique_ptr<Parser> rest;
    if (options.has_calls) rest = std::move(make_tool_parser("hermes", nullptr)).value();
    return make_reasoning_parser(tags, options.is_open, std::move(rest));
  };
  const auto log = read_every_way(make, reply, seed);
  if (log.num_calls() > 0) return;
  // All that was written is shown, but for the tags that were consumed.
  const auto blanks = std::min(reply.find_first_not_of(" \n\t\r"), reply.size());
  const bool has_open = starts_with(reply.substr(blanks), tags.open);
  const std::string rest(has_open ? reply.substr(blanks + tags.open.size()) : reply);
  auto closed = rest;
  if (const auto at = rest.find(tags.close); at != std::string::npos) closed.erase(at, tags.close.size());
  const bool is_inside = has_open || options.is_open;
  fuzz::require(log.shown() == rest || (is_inside && log.shown() == closed), "lost text: ", log.shown());
  ends_in_reasoning(reply, tags);
}
}  // namespace
}  // namespace corisco::gateway::tool_calls

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace corisco::gateway::tool_calls;
  corisco::fuzz::Input input(data, size);
  const auto bits = input.byte();
  const auto seed = input.byte();
  check({(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0}, corisco::fuzz::as_utf8(input.rest(2048)), seed);
  return 0;
}
