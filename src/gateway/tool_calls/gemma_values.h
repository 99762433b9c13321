// An object as Gemma writes it, as JSON. Pure.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "gateway/tool_calls/call_parser.h"

namespace corisco::gateway::tool_calls {
//   {a:<|"|>x "y"<|"|>,n:[1,None],o:{k:true}}    {"a": "x \"y\"", "n": [1, null], "o": {"k": true}}
// Strings stand between two quotes and stream; a bare value is JSON if it is valid, a string in double quotes
// included, one of Python's constants, or else text.
class GemmaObject {
 public:
  explicit GemmaObject(std::string_view quote) : quote_(quote) {}
  // Begins at the brace. Gives its bytes as arguments; done with the brace that closes it.
  Step read(Input& input, EventList& out);
  const std::string& problem() const { return problem_; }

 private:
  enum class At { open, key_or_end, key, item_or_end, value, string, bare, after };

  Step fail(std::string_view what);
  Step read_part(Input& input, EventList& out);
  Step read_key(Input& input, EventList& out);
  Step read_value(Input& input, EventList& out);
  Step read_string(Input& input, EventList& out);
  Step read_bare(Input& input, EventList& out);
  Step read_after(Input& input, EventList& out);
  Step open(char bracket, Input& input, EventList& out);
  Step close(Input& input, EventList& out);

  std::string_view quote_;
  std::string problem_;
  std::string open_;                     // '{' or '[' of each that is open
  At at_ = At::open;
  std::size_t scanned_ = 0;              // bytes of the open bare value without its end
};
}  // namespace corisco::gateway::tool_calls
