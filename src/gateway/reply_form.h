// What a request demands of its reply's form, as its wire format was read. What becomes of it:
// reply_grammar.h.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace corisco::gateway {
struct ReplyForm {
  enum class Kind : std::uint8_t { free, json_schema, regex, choice, lark };
  Kind kind = Kind::free;
  std::string text;                      // the schema, pattern or grammar
  std::vector<std::string> choices;      // of a choice
  bool is_strict = true;                 // of a schema: what cannot be enforced of it is refused
  std::string field;                     // on the wire
};

// A reply that must be calls of tools.
struct ForcedCall {
  bool is_forced = false;
  std::vector<std::string> names;        // of the tools that may be called, as templates know them; empty: any
  std::string field;
};
}  // namespace corisco::gateway
