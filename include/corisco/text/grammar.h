// Grammars that replies must obey: which tokens may come next. A compiler and a grammar are immutable but
// for the compiler's memory of grammars, any thread; a matcher has one owner. Compiling takes milliseconds
// to seconds: never on the io thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "corisco/base/result.h"
#include "corisco/text/tokenizer.h"

namespace corisco::text {
// A grammar in llguidance's words, in parts. The first is what a reply must be.
//   {{reply, lark, "start: \"so: \" @answer"}, {answer, json_schema, "{\"type\": \"integer\"}"}}
//   so: 42
struct GrammarPart {
  enum class Kind : std::uint8_t {
    json_schema,           // a keyword that cannot be enforced is an error that names it
    lenient_json_schema,   // such keywords are passed over
    regex,
    lark,                  // names other parts as @name
  };
  std::string name;        // lower-case letters, digits and _
  Kind kind = Kind::lark;
  std::string text;
  bool operator==(const GrammarPart&) const = default;
};
using GrammarSource = std::vector<GrammarPart>;

// Where in its grammar one reply is.
class GrammarMatcher {
 public:
  virtual ~GrammarMatcher() = default;
  // Bit id % 32 of word id / 32: the token may come next. End tokens may where the reply may end, special
  // tokens only where the grammar names them. Valid until the matcher is used again.
  virtual Result<std::span<const std::uint32_t>> mask() = 0;
  // A token that the mask allows; any other is an error, and so is all that follows.
  virtual Result<void> consume(TokenId id) = 0;
  virtual bool is_complete() const = 0;   // nothing but an end can follow
  virtual Result<bool> may_end() = 0;
};

class Grammar {
 public:
  virtual ~Grammar() = default;
  virtual Result<std::unique_ptr<GrammarMatcher>> start() const = 0;
};

class GrammarCompiler {
 public:
  static constexpr std::size_t kKeptMax = 64;   // grammars that it remembers, the newest used ones

  // end_ids: tokens that end a reply. Takes a second for a vocabulary of 150,000.
  static Result<std::shared_ptr<const GrammarCompiler>> create(const Tokenizer& tokenizer,
                                                               std::span<const TokenId> end_ids);
  virtual ~GrammarCompiler() = default;
  // invalid_argument, with what is wrong. Remembered by its source.
  virtual Result<std::shared_ptr<const Grammar>> compile(const GrammarSource& source) const = 0;
};
}  // namespace corisco::text
