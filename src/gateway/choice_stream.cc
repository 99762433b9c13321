#include "gateway/choice_stream.h"

#include <algorithm>
#include <utility>

#include "gateway/call_ids.h"

namespace corisco::gateway {
namespace {
using Kind = tool_calls::Event::Kind;

// Neighbours of one kind become one part.
void append(std::vector<ReplyPart>& parts, const ReplyPart& part) {
  const bool is_joined = part.kind == Kind::text || part.kind == Kind::reasoning || part.kind == Kind::arguments;
  if (is_joined && !parts.empty() && parts.back().kind == part.kind && parts.back().is_broken == part.is_broken)
    parts.back().text += part.text, parts.back().num_tokens += part.num_tokens;
  else
    parts.push_back(part);
}
}  // namespace

ChoiceStream::ChoiceStream(std::shared_ptr<const text::Tokenizer> tokenizer,
                           std::vector<std::string> stop_strings, std::vector<TokenId> hidden_ids,
                           ReplyReading reading)
    : hidden_ids_(std::move(hidden_ids)),
      detokenizer_(std::move(tokenizer), reading.parser != nullptr, reading.goes_on),
      stops_(std::move(stop_strings)), reading_(std::move(reading)) {}

std::string ChoiceStream::show(TokenId id) {
  ++num_read_;
  ++num_untold_;
  const bool is_hidden = std::find(hidden_ids_.begin(), hidden_ids_.end(), id) != hidden_ids_.end();
  if (is_hidden || is_stopped_) return {};
  return shown_of(stops_.push(detokenizer_.push(id), num_read_ > reading_.min_tokens));
}

std::string ChoiceStream::rest() {
  if (is_stopped_) return {};
  auto text = shown_of(stops_.push(detokenizer_.finish(), num_read_ > reading_.min_tokens));
  return is_stopped_ ? text : text + stops_.finish();
}

std::string ChoiceStream::shown_of(text::StopStrings::Piece piece) {
  is_stopped_ = piece.is_stopped;
  stop_string_ = std::move(piece.stop);
  return std::move(piece.text);
}

void ChoiceStream::understand(const std::string& text, ChoicePiece& piece) {
  piece.text += text;
  if (reading_.parser) take(reading_.parser->push(text), piece);
  else if (!text.empty()) take({{Kind::text, text, -1, false}}, piece);
}

// The model's own, which its template writes back, if it is the reply's only one; else one that is issued.
std::string ChoiceStream::id_of(const ReplyPart& call) const {
  const bool is_taken = std::any_of(parts_.begin(), parts_.end(), [&](const auto& part) {
    return part.kind == Kind::call_begin && part.call_id == call.id;
  });
  if (!call.id.empty() && !is_taken) return call.id;
  return issued_call_id(reading_.call_id_seed, call.index, reading_.has_short_call_ids);
}

void ChoiceStream::take(std::vector<tool_calls::Event> events, ChoicePiece& piece) {
  for (auto& event : events) {
    if (event.kind == Kind::parse_error) {
      repeats_call_ = event.index >= 0;
      parse_errors_.push_back(std::move(event.text));
      continue;
    }
    if (event.kind == Kind::text) event.is_broken = event.is_broken && repeats_call_;
    ReplyPart part{std::move(event), {}, std::exchange(num_untold_, 0)};
    if (part.kind == Kind::call_begin) {
      has_calls_ = true;
      part.call_id = id_of(part);
    }
    append(parts_, part);
    append(piece.parts, part);
  }
}

ChoicePiece ChoiceStream::say(std::string text) {
  ChoicePiece piece;
  piece.text = text_ = std::move(text);
  take({{Kind::text, text_, -1, false}}, piece);
  finish_ = FinishReason::stop;
  return piece;
}

ChoicePiece ChoiceStream::push(GenerateDelta delta) {
  ChoicePiece piece;
  if (finish_) return piece;
  if (tokens_.empty()) {
    num_cached_prompt_tokens_ = delta.num_cached_prompt_tokens;
    prompt_logprobs_ = std::move(delta.prompt_logprobs);
  }
  for (const auto& token : delta.tokens) {
    understand(show(token.id), piece);
    if (!parts_.empty() && parts_.back().kind == Kind::reasoning) ++num_reasoning_tokens_;
  }
  finish_ = delta.finish;
  routed_experts_ = std::move(delta.routed_experts);
  if (finish_) understand(rest(), piece);
  if (is_stopped_) finish_ = FinishReason::stop;
  if (finish_ && reading_.parser) take(reading_.parser->finish(), piece);
  text_ += piece.text;
  tokens_.insert(tokens_.end(), delta.tokens.begin(), delta.tokens.end());
  top_logprobs_.insert(top_logprobs_.end(), delta.top_logprobs.begin(), delta.top_logprobs.end());
  piece.tokens = std::move(delta.tokens);
  piece.top_logprobs = std::move(delta.top_logprobs);
  return piece;
}
}  // namespace corisco::gateway
