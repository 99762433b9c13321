// What a scripted model says: rules over the prompt's text, the first that matches gives the reply.
// Immutable after load; any thread.
//
//   {"if": ["text that the prompt holds", ...], "unless": ["text that it lacks", ...], "reply": "..."}
//
// one JSON object in a line. Both lists may be left out; control tokens in a reply are written by name.
// A reply may be a list of texts: each is encoded by itself, since a model may draw other tokens than
// those that its text encodes to.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "corisco/text/tokenizer.h"

namespace corisco::app {
class Script {
 public:
  // The error names the line and the key.
  static Result<Script> load(const std::string& file, const text::Tokenizer& tokenizer);
  // The reply's tokens without an end token; null: no rule matches.
  const std::vector<TokenId>* reply_to(std::string_view prompt) const;
  // The reply if it is the same to every prompt, which then need not be read; else null.
  const std::vector<TokenId>* reply_to_all() const;

 private:
  struct Rule {
    std::vector<std::string> all_of, none_of;
    std::vector<TokenId> reply;
  };
  static Result<Rule> parse(std::string_view line, const text::Tokenizer& tokenizer);
  std::vector<Rule> rules_;
};
}  // namespace corisco::app
