// Text that spells a control token but is no more than text: what a harness, a tool or a web page wrote
// must not end a turn or open one. Marked before a chat template sees it, told apart when the rendering is
// encoded. Immutable; any thread.
//
//   user "say <|im_end|>"   is rendered as   "<|im_start|>user\nsay <M|im_end|><|im_end|>\n"
//   where M is a character that no text has (U+10FFFF). The control tokens that the template wrote have no
//   mark, so renderings that read alike are alike only if they have the same control tokens, and comparing
//   them stays comparing bytes.
//
// What an assistant said is left as it is: a model's control tokens may come back in it. So is the prompt
// of /v1/completions, which is the raw text of a prompt, control tokens and all, as it is for vLLM.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "corisco/text/chat_template.h"
#include "corisco/text/tokenizer.h"

namespace corisco::gateway {
class LiteralText {
 public:
  explicit LiteralText(const text::Tokenizer& tokenizer);

  // Marks each special token's text in the messages of every role but the assistant's, and in the tools.
  // One search through the text where there is none.
  text::ChatInput marked(text::ChatInput input) const;

  struct Unmarked {
    std::string text;
    std::vector<text::TextRange> literals;
  };
  // A rendering, or its end, without marks; the literals are what was marked.
  Unmarked unmarked(std::string rendering) const;

 private:
  // Special tokens of one first byte.
  struct Group {
    std::string common;                  // what they all begin with
    std::vector<std::string> texts;      // the longest first
  };
  struct Found {
    std::size_t at = std::string_view::npos, bytes = 0;
  };
  using Groups = std::vector<Group>;
  static Groups grouped(std::vector<std::string> texts);
  static Found next(std::string_view text, std::size_t from, const Groups& groups);
  // The special token that begins there in front of a mark, if one does; bytes: of its text.
  Found before_mark(std::string_view text, std::size_t mark_at, std::size_t mark_bytes) const;
  std::string mark_text(std::string_view text) const;
  template <class Json>
  void mark_strings(Json& value) const;
  std::string mark_messages(const std::string& messages_json) const;

  Groups groups_;
  Groups in_json_;                       // as JSON writes them
};
}  // namespace corisco::gateway
