#include "corisco/text/detokenizer.h"

#include <utility>

#include "text/utf8.h"

namespace corisco::text {
Detokenizer::Detokenizer(std::shared_ptr<const Tokenizer> tokenizer)
    : tokenizer_(std::move(tokenizer)), strips_space_(tokenizer_->strips_first_space()) {}

std::string Detokenizer::push(TokenId id) {
  pending_ += tokenizer_->token_bytes(id);
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
