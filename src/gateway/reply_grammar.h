// What a request demands of its reply, as one grammar. Pure; any thread.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "corisco/gateway/reply_syntax.h"
#include "corisco/text/grammar.h"
#include "gateway/api_error.h"
#include "gateway/chat_request.h"

namespace corisco::gateway {
// Where the reply begins.
enum class Thinking : std::uint8_t {
  none,                                  // no reasoning can come
  may_open,                              // the model may write the opening tag
  is_open,                               // the prompt ends inside reasoning
};
Thinking thinking_of(const ReplySyntax& syntax, bool is_completion, std::string_view prompt_text);

enum class Constraint : std::uint8_t { none, form, forced_call, strict_tools };
const char* to_string(Constraint constraint);

struct WantedGrammar {
  Constraint constraint = Constraint::none;
  text::GrammarSource source;
  std::string field;                     // of the request, for what is wrong with it
};
// Refused by name: calls of a model that is not known to write any, and what of a strict tool's schema cannot be
// said of the family's calls. Strict tools that the model may call or not are left alone where that is so.
OrApiError<WantedGrammar> wanted_grammar(const ChatRequest& request, const ReplySyntax& syntax, Thinking thinking,
                                         const text::Tokenizer& tokenizer);

// The daemon's grammars. The compiler is made when the first is wanted. The text worker's thread alone.
class ReplyGrammars {
 public:
  ReplyGrammars(std::shared_ptr<const text::Tokenizer> tokenizer, std::span<const TokenId> end_ids)
      : tokenizer_(std::move(tokenizer)), end_ids_(end_ids.begin(), end_ids.end()) {}
  Result<std::shared_ptr<const text::Grammar>> compile(const text::GrammarSource& source);

 private:
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::vector<TokenId> end_ids_;
  std::shared_ptr<const text::GrammarCompiler> compiler_;
};
}  // namespace corisco::gateway
