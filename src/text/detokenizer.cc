#include "corisco/text/detokenizer.h"

#include <utility>

#include "text/utf8.h"

namespace corisco::text {
Detokenizer::Detokenizer(std::shared_ptr<const Tokenizer> tokenizer, bool keep_special, bool goes_on)
    : tokenizer_(std::move(tokenizer)), keeps_special_(keep_special),
      strips_space_(!goes_on && tokenizer_->strips_first_space()) {}

std::string Detokenizer::push(TokenId id) {
  const bool is_named = keeps_special_ && tokenizer_->is_special(id);
  pending_ += is_named ? tokenizer_->decode(std::span(&id, 1), true) : tokenizer_->token_bytes(id);
  if (strips_space_ && !pending_.empty()) {
    if (pending_.front() == ' ') pending_.erase(0, 1);
    strips_space_ = false;
  }
  std::string text;
  pending_.erase(0, append_certain_characters(pending_, text));
  return text;
}

std::string Detokenizer::finish() {
  std::string text;
  append_all_characters(pending_, text);
  pending_.clear();
  return text;
}
}  // namespace corisco::text
