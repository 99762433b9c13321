// The text of a model's reply, in pieces as it is sampled, read as text, reasoning and tool calls.
// One parser per choice; io thread; pure. The text must keep special tokens, since they may be
// markers, but for those that end the reply. Never touches what is trained.
#pragma once
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "corisco/base/result.h"

namespace corisco::gateway::tool_calls {
//   Hm.<tool_call>\n{"name": "ls", "arguments": {"path": "."}}\n</tool_call>    as hermes:
//   text "Hm.", call_begin 0 "ls", arguments 0 "{\"path\": \".\"}" (in fragments), call_end 0
struct Event {
  enum class Kind {
    text,
    reasoning,
    call_begin,
    arguments,                           // the next bytes of the call's JSON object
    call_end,
    parse_error,                         // before it comes all else that was understood
  };
  Kind kind = Kind::text;
  std::string text;                      // call_begin: the tool's name; parse_error: what was wrong
  int index = -1;                        // of the call, from 0; parse_error: -1 if it had not begun
  // call_end: the arguments are not whole, and what the model wrote for the call follows as text.
  // text: such text, so that who has shown the fragments can leave it out.
  bool is_broken = false;
  std::string id{};                      // of a call_begin: as the model wrote it; empty: its format has none
};

// However the reply is cut into pieces, the events are the same once neighbours of one kind are
// joined. Held back: what may be the start of a marker, blanks that may be next to a call (shown
// only next to text), and the head of a call up to where its arguments start.
// A call that does not parse loses nothing: a parse_error, and its text as text, in which later
// calls are found. Arguments of a call_end that is not broken are always one valid JSON object.
class Parser {
 public:
  virtual ~Parser() = default;
  virtual std::vector<Event> push(std::string_view piece) = 0;
  virtual std::vector<Event> finish() = 0;   // the reply has ended: what was held back
};

// tools: the request's, in any of the APIs' shapes, for formats whose values are typed by schema.
// An unknown name is an error that lists the known ones.
Result<std::unique_ptr<Parser>> make_tool_parser(std::string_view name,
                                                 const nlohmann::ordered_json& tools);
// The family whose calls the template renders, or else the model type's; none if unknown.
std::optional<std::string> guess_family(std::string_view chat_template, std::string_view model_type);

struct ReasoningTags {
  std::string open = "<think>";
  std::string close = "</think>";
  // A marker at a line's start that ends reasoning though close did not come, as Qwen3.5 and GLM
  // need with "<tool_call>"; empty: none.
  std::string implicit_end;
};
// Reasoning at the reply's start, the rest through the given parser, or as text if it is null.
//   is_open: the prompt ends inside reasoning
std::unique_ptr<Parser> make_reasoning_parser(ReasoningTags tags, bool is_open,
                                              std::unique_ptr<Parser> rest);
// gpt-oss: messages in channels. tells_reasoning: of what is in the analysis channel; else that is text.
std::unique_ptr<Parser> make_harmony_parser(bool reads_calls, bool tells_reasoning);
// Whether a rendered prompt ends inside reasoning: its template wrote the open tag.
bool ends_in_reasoning(std::string_view prompt, const ReasoningTags& tags = {});
}  // namespace corisco::gateway::tool_calls
