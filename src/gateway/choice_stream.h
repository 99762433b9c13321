// One choice while it is generated: sampled tokens in, text out, whole characters only and nothing
// of a stop string. Keeps every token as it came. Io thread; pure.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "corisco/gateway/ports.h"
#include "corisco/text/detokenizer.h"

namespace corisco::gateway {
// What one delta adds to what the client sees.
struct ChoicePiece {
  std::string text;
  std::vector<SampledToken> tokens;
  std::vector<std::vector<TopLogprob>> top_logprobs;   // per token; empty if not asked for
};

class ChoiceStream {
 public:
  // hidden_ids: tokens that end a reply and never show in its text.
  ChoiceStream(std::shared_ptr<const text::Tokenizer> tokenizer, std::vector<std::string> stop_strings,
               std::vector<TokenId> hidden_ids);

  // A delta without an error. After a stop string is complete the choice is finished, whatever the
  // generator says later.
  ChoicePiece push(GenerateDelta delta);

  const std::vector<SampledToken>& tokens() const { return tokens_; }
  const std::vector<std::vector<TopLogprob>>& top_logprobs() const { return top_logprobs_; }
  const std::string& text() const { return text_; }
  std::optional<FinishReason> finish() const { return finish_; }
  // That ended it; empty: something else did, or it goes on.
  const std::string& stop_string() const { return stop_string_; }

 private:
  std::string show(TokenId id);
  std::string shown_of(text::StopStrings::Piece piece);
  std::string rest();

  std::vector<TokenId> hidden_ids_;
  text::Detokenizer detokenizer_;
  text::StopStrings stops_;
  bool is_stopped_ = false;              // a stop string is complete
  std::string stop_string_;
  std::vector<SampledToken> tokens_;
  std::vector<std::vector<TopLogprob>> top_logprobs_;
  std::string text_;
  std::optional<FinishReason> finish_;
};
}  // namespace corisco::gateway
