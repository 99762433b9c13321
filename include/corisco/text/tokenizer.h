// tokenizer.json through the Rust `tokenizers` crate. Immutable after load but for a
// cache of words; any thread.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "corisco/base/result.h"
#include "corisco/types/call.h"

namespace corisco::text {
// Bytes [begin, end) of a text.
struct TextRange {
  std::size_t begin = 0, end = 0;
  bool operator==(const TextRange&) const = default;
};

class Tokenizer {
 public:
  static Result<std::shared_ptr<const Tokenizer>> load(const std::string& model_folder);
  virtual ~Tokenizer() = default;
  // Never adds special tokens of its own. with_special: text such as <|im_end|> becomes the
  // control token (rendered templates); without, it is encoded as plain text. Added tokens that
  // are not marked special (such as <tool_call>) are recognised in both. invalid_argument if the
  // text is not UTF-8.
  virtual Result<std::vector<TokenId>> encode(std::string_view text, bool with_special) const = 0;
  // As encode with_special, but special tokens' texts within the literals are text: the ids there, and
  // across their borders, are those of any other text. literals: in order, none overlaps another.
  virtual Result<std::vector<TokenId>> encode_rendering(std::string_view text,
                                                        std::span<const TextRange> literals) const = 0;
  // The control tokens that the tokenizer itself puts before a text, such as <s>; encode leaves them out.
  virtual std::vector<TokenId> own_prefix() const { return {}; }
  // keep_special: control tokens appear by their names. What is not UTF-8 becomes U+FFFD, one for
  // each longest start of a character, as Python's errors="replace" does. Unknown ids are nothing.
  virtual std::string decode(std::span<const TokenId> ids, bool keep_special) const = 0;
  // The raw bytes of one token, which may be part of a character; empty for a control token.
  virtual std::string token_bytes(TokenId id) const = 0;
  virtual bool is_special(TokenId id) const = 0;
  // SentencePiece style: decoding a whole text takes away one blank at its start.
  virtual bool strips_first_space() const { return false; }
  virtual std::size_t vocabulary_size() const = 0;   // one above the largest id
  virtual std::optional<TokenId> id_of(std::string_view token) const = 0;
};
}  // namespace corisco::text
