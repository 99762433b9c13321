#include "gateway/choice_stream.h"

#include <algorithm>
#include <utility>

namespace corisco::gateway {
ChoiceStream::ChoiceStream(std::shared_ptr<const text::Tokenizer> tokenizer,
                           std::vector<std::string> stop_strings, std::vector<TokenId> hidden_ids)
    : hidden_ids_(std::move(hidden_ids)), detokenizer_(std::move(tokenizer)),
      stops_(std::move(stop_strings)) {}

std::string ChoiceStream::show(TokenId id) {
  const bool is_hidden = std::find(hidden_ids_.begin(), hidden_ids_.end(), id) != hidden_ids_.end();
  if (is_hidden || is_stopped_) return {};
  return shown_of(stops_.push(detokenizer_.push(id)));
}

std::string ChoiceStream::rest() {
  if (is_stopped_) return {};
  auto text = shown_of(stops_.push(detokenizer_.finish()));
  return is_stopped_ ? text : text + stops_.finish();
}

std::string ChoiceStream::shown_of(text::StopStrings::Piece piece) {
  is_stopped_ = piece.is_stopped;
  stop_string_ = std::move(piece.stop);
  return std::move(piece.text);
}

ChoicePiece ChoiceStream::push(GenerateDelta delta) {
  ChoicePiece piece;
  if (finish_) return piece;
  for (const auto& token : delta.tokens) piece.text += show(token.id);
  finish_ = delta.finish;
  if (finish_) piece.text += rest();
  if (is_stopped_) finish_ = FinishReason::stop;
  text_ += piece.text;
  tokens_.insert(tokens_.end(), delta.tokens.begin(), delta.tokens.end());
  top_logprobs_.insert(top_logprobs_.end(), delta.top_logprobs.begin(), delta.top_logprobs.end());
  piece.tokens = std::move(delta.tokens);
  piece.top_logprobs = std::move(delta.top_logprobs);
  return piece;
}
}  // namespace corisco::gateway
