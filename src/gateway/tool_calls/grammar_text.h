// Writes a grammar in llguidance's Lark: literals, markers, text up to a marker, schemas. Pure.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "corisco/text/grammar.h"
#include "corisco/text/tokenizer.h"

namespace corisco::gateway::tool_calls {
//   g.rule("start", g.marker("<tool_call>") + " " + g.literal("\n"));
//   start: "<tool_call>" "\n"        if the tokenizer takes the marker for text, else
//   start: <[151657]> "\n"
class GrammarText {
 public:
  explicit GrammarText(const text::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // Each gives what stands for it in a rule's body.
  std::string literal(std::string_view text) const;
  std::string marker(std::string_view text) const;   // may be a special token
  std::string up_to(std::string_view marker);        // any text, ended by the first such marker, included
  std::string without(std::string_view marker);      // any text, also none, in which it does not occur
  std::string part(text::GrammarPart::Kind kind, std::string text);
  std::string schema(const nlohmann::ordered_json& schema, bool is_strict);
  bool has_special(std::string_view token) const;
  void rule(std::string_view name, std::string_view body);

  // The rule named start is the reply.
  text::GrammarSource take();

 private:
  std::string text_without(std::string_view marker);   // a terminal; may be empty

  const text::Tokenizer& tokenizer_;
  std::string rules_;
  text::GrammarSource parts_;
  int num_terminals_ = 0;
};
}  // namespace corisco::gateway::tool_calls
