// Turns sampled ids into text piece by piece: only whole characters come out, and the pieces'
// concatenation equals decoding all ids at once, at every split. One owner.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "corisco/text/tokenizer.h"

namespace corisco::text {
class Detokenizer {
 public:
  // keep_special: control tokens appear by their names, else they are left out of the text.
  // goes_on: other text stands before it, so that a blank at its start is one.
  explicit Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool keep_special = false, bool goes_on = false);
  std::string push(TokenId id);        // what is certain now; may be empty
  std::string finish();                // the rest; an incomplete character becomes U+FFFD

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  bool keeps_special_;
  std::string pending_;                // bytes of a character that is not whole yet
  bool strips_space_;                  // until the first byte, if the tokenizer does so
};

// Watches text for stop strings. Holds back what may still become one, so that no part of a stop
// string is ever shown. The stop string that is complete first ends the text (of those that end
// together, the longest), so the result is the same however the text is cut. One owner.
class StopStrings {
 public:
  explicit StopStrings(std::vector<std::string> stops);
  struct Piece {
    std::string text;                  // to show now
    bool is_stopped = false;           // a stop string is complete; text before it is shown
    std::string stop{};                // which one, in the piece that completes it
  };
  // Once stopped, it stays so and shows nothing more. may_stop: whether a stop string that this text
  // completes counts; one that it only begins still counts when later text completes it.
  Piece push(std::string_view text, bool may_stop = true);
  std::string finish();                // what was held back

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool is_stopped_ = false;
};
}  // namespace corisco::text
