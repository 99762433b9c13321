// Writes a grammar in llguidance's Lark: literals, special tokens, text up to a marker, schemas. Pure.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "corisco/text/grammar.h"
#include "corisco/text/tokenizer.h"

namespace corisco::gateway::tool_calls {
//   g.rule("start", g.written("<tool_call>\n"));
//   start: "<tool_call>\n"           if the tokenizer takes the marker for text, else
//   start: <[151657]> "\n"
class GrammarText {
 public:
  using Texts = std::vector<std::string>;
  explicit GrammarText(const text::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  // Each gives what stands for it in a rule's body.
  static std::string literal(std::string_view text);   // of letters alone
  std::string written(std::string_view text) const;    // with the special tokens that the tokenizer has in it
  // Any text, ended by the first such marker, included; the other markers don't occur in it.
  std::string up_to(std::string_view marker, Texts others = {});
  std::string without(const Texts& markers);           // any text, also none, in which they do not occur
  std::string part(text::GrammarPart::Kind kind, std::string text);
  std::string schema(const nlohmann::ordered_json& schema, bool is_strict);
  static std::string choice(const Texts& bodies);
  std::string named(const std::string& body);          // by a rule of its own; an empty body stays empty

  bool has_token(std::string_view token) const { return tokenizer_.id_of(token).has_value(); }
  std::string new_name(std::string_view stem);
  void rule(std::string_view name, std::string_view body);
  // What the grammar cannot say though it must: the first such reason is kept.
  void refuse(std::string why);
  const std::string& refusal() const { return refusal_; }   // empty: none

  // The rule named start is the reply.
  text::GrammarSource take();

 private:
  std::string_view first_special(std::string_view text) const;
  std::string terminal(std::string_view expression, const Texts& excluded);

  const text::Tokenizer& tokenizer_;
  std::string rules_;
  std::string refusal_;
  text::GrammarSource parts_;
  int num_names_ = 0;
};
}  // namespace corisco::gateway::tool_calls
