// What a turn says, whatever its form: its text, its reasoning, its tool calls. A reply that comes back
// written otherwise is recognised by it. Pure; any thread.
#pragma once
#include <bitset>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "corisco/gateway/reply_syntax.h"

namespace corisco::gateway {
// How a reply's form may differ when it comes back, and still be the same one.
enum class Difference : std::uint8_t {
  whitespace,                            // at the ends of its text or reasoning, or around its calls
  arguments,                             // of a tool call: the same JSON, written otherwise
  empty_thinking,                        // a thinking wrapper with nothing in it is there or not
  missing_end,                           // the reply lacks the end of its turn; the chat template adds it
  kept_reasoning,                        // its reasoning did not come back, and gateway.keep_reasoning is on
};
constexpr std::size_t kNumDifferences = 5;
const char* to_string(Difference difference);

class Differences {
 public:
  void add(Difference difference) { bits_.set(static_cast<std::size_t>(difference)); }
  bool has(Difference difference) const { return bits_.test(static_cast<std::size_t>(difference)); }
  bool any() const { return bits_.any(); }

 private:
  std::bitset<kNumDifferences> bits_;
};

struct MeantCall {
  std::string name;
  std::string arguments;                 // JSON as it was written
};

//   "<think>\nHm.\n</think>\n\nLet me look.\n<tool_call>\n{"name": "ls", "arguments": {}}\n</tool_call>"
//   texts ["\n\nLet me look.\n"], reasoning "\nHm.\n", calls [ls {}]
struct Meaning {
  std::vector<std::string> texts;        // what is between calls is one each
  std::string reasoning;
  bool has_wrapper = false;              // a thinking wrapper, perhaps empty
  std::vector<MeantCall> calls;          // those that are whole; the text of others is in texts
};

// Reads turns by the run's own reply parsers.
class ReplyReader {
 public:
  // tools_json: the request's, for formats whose values are typed by schema; empty: none.
  explicit ReplyReader(ReplySyntax syntax, std::string tools_json = {})
      : syntax_(std::move(syntax)), tools_json_(std::move(tools_json)) {}
  // turn: its text, special tokens kept, without its end token; what the generation prompt wrote of its
  // thinking comes first.
  Meaning read(std::string_view turn) const;
  std::vector<Meaning> read_all(const std::vector<std::string_view>& turns) const;

 private:
  Meaning read_with(const nlohmann::ordered_json& tools, std::string_view turn) const;

  ReplySyntax syntax_;
  std::string tools_json_;
};

enum class Likeness : std::uint8_t {
  same,
  without_reasoning,                     // the same but for reasoning that did not come back
  other,
};
struct Comparison {
  Likeness likeness = Likeness::other;
  Differences differences;               // unless other
};
Comparison compare(const Meaning& sampled, const Meaning& returned);

// Values equal as JSON: 1.0 is 1, the order of members is nothing, blanks neither. What is not JSON is
// compared as text.
bool is_same_json(std::string_view a, std::string_view b);
// Blanks at both ends count for nothing, nor do those where a call stood between two texts.
bool is_same_text(const std::vector<std::string>& texts, std::string_view whole);

// How much of a prompt's new text stands before its last turn's own: what its generation prompt wrote of
// the turn (blanks, an open or empty thinking wrapper) is the turn's, since templates write it otherwise
// when the turn is history.
//   "...<|im_start|>assistant\n<think>\n"    up to and with "assistant"
std::size_t stem_bytes(std::string_view prompt_text, const ReplySyntax& syntax);
}  // namespace corisco::gateway
