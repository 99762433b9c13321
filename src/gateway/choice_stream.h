// One choice while it is generated: sampled tokens in; text, reasoning and tool calls out, whole
// characters only and nothing of a stop string. Keeps every token as it came. Io thread; pure.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "corisco/gateway/ports.h"
#include "corisco/text/detokenizer.h"
#include "gateway/tool_calls/parser.h"

namespace corisco::gateway {
// A part of what the client sees; never a parse_error.
//   is_broken  of a call_end: its arguments are not whole. Of text: it repeats such a call's text, for
//              formats that don't show broken calls.
//   num_tokens those sampled since the part before, up to the one that told this part: the tokens of all
//              parts are the reply's in their order, but for what shows nothing at its end.
struct ReplyPart : tool_calls::Event {
  std::string call_id{};                 // of a call_begin, unique
  std::size_t num_tokens = 0;
};

// How the text of a choice is read.
struct ReplyReading {
  std::unique_ptr<tool_calls::Parser> parser;   // null: all of it is text
  std::string call_id_seed{};            // of CallIds
  bool has_short_call_ids = false;       // nine letters and digits, as Mistral's templates insist
  std::uint32_t min_tokens = 0;          // a stop string that is complete within so many does not count
  bool goes_on = false;                  // from a text that is shown before it
};

// What one delta adds to what the client sees.
struct ChoicePiece {
  std::string text;                      // as sampled
  std::vector<ReplyPart> parts;          // what it means
  std::vector<SampledToken> tokens;
  std::vector<std::vector<TopLogprob>> top_logprobs;   // per token; empty if not asked for
};

class ChoiceStream {
 public:
  // hidden_ids: tokens that end a reply and never show in its text.
  ChoiceStream(std::shared_ptr<const text::Tokenizer> tokenizer, std::vector<std::string> stop_strings,
               std::vector<TokenId> hidden_ids, ReplyReading reading = {});

  // A delta without an error. After a stop string is complete the choice is finished, whatever the
  // generator says later.
  ChoicePiece push(GenerateDelta delta);
  // The whole reply, made by the gateway itself: text without tokens, and a normal end.
  ChoicePiece say(std::string text);

  const std::vector<SampledToken>& tokens() const { return tokens_; }
  const std::vector<std::vector<TopLogprob>>& top_logprobs() const { return top_logprobs_; }
  // Of the prompt's tokens but its first; empty if not asked for.
  const std::vector<PromptLogprob>& prompt_logprobs() const { return prompt_logprobs_; }
  const std::string& text() const { return text_; }   // as sampled; markers show if it is parsed
  // The whole reply so far, neighbours of one kind joined.
  const std::vector<ReplyPart>& parts() const { return parts_; }
  bool has_calls() const { return has_calls_; }
  const std::vector<std::string>& parse_errors() const { return parse_errors_; }
  // Tokens after which the reply was in its reasoning; its closing tag and blanks after that count.
  std::size_t num_reasoning_tokens() const { return num_reasoning_tokens_; }
  std::optional<FinishReason> finish() const { return finish_; }
  // Prompt tokens that the generator had computed before.
  std::uint32_t num_cached_prompt_tokens() const { return num_cached_prompt_tokens_; }
  // Of a whole reply, once; empty if the generator gave none.
  std::vector<std::uint16_t> take_routed_experts() { return std::exchange(routed_experts_, {}); }
  // That ended it; empty: something else did, or it goes on.
  const std::string& stop_string() const { return stop_string_; }

 private:
  std::string show(TokenId id);
  std::string shown_of(text::StopStrings::Piece piece);
  std::string rest();
  void understand(const std::string& text, ChoicePiece& piece);
  std::string id_of(const ReplyPart& call) const;
  void take(std::vector<tool_calls::Event> events, ChoicePiece& piece);

  std::vector<TokenId> hidden_ids_;
  text::Detokenizer detokenizer_;
  text::StopStrings stops_;
  std::size_t num_read_ = 0;             // tokens so far
  std::size_t num_untold_ = 0;           // of those, since the last part
  bool is_stopped_ = false;              // a stop string is complete
  std::string stop_string_;
  std::vector<SampledToken> tokens_;
  std::vector<std::vector<TopLogprob>> top_logprobs_;
  std::vector<PromptLogprob> prompt_logprobs_;
  std::string text_;
  ReplyReading reading_;
  bool repeats_call_ = false;            // broken text that comes now is that of a call already shown
  std::vector<ReplyPart> parts_;
  std::size_t num_reasoning_tokens_ = 0;
  std::uint32_t num_cached_prompt_tokens_ = 0;
  std::vector<std::uint16_t> routed_experts_;
  bool has_calls_ = false;
  std::vector<std::string> parse_errors_;
  std::optional<FinishReason> finish_;
};
}  // namespace corisco::gateway
