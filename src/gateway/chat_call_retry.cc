// A request that is sent again. It waits for the reply that is being sampled for it, or gets the one that
// was, or is sampled anew in its place.
//
// Sampled anew, it draws with the key of the earlier try: it counts as no further prompt (invariant 8).
// When a client gives up is an accident of the clock, which must neither change what a rollout draws nor
// choose: fresh draws after each time-out would prefer short replies to long ones. The earlier tokens are
// never trained, so that none is trained twice.
#include <algorithm>

#include "gateway/chat_call.h"

namespace corisco::gateway {
namespace asio = boost::asio;

// Afterwards earlier_ is the exchange whose reply is repeated; empty: the call is sampled.
asio::awaitable<ChatCall::Failure> ChatCall::follow_earlier() {
  if (!attempt_ || request_.samples_nothing()) co_return std::nullopt;   // nothing to sample twice
  auto& retries = attempt_->retries;
  while (const auto earlier = retries.find(identity_, marks_.retry.is_retry, parts_.clock->now())) {
    const bool waits = earlier->stage == Exchange::Stage::running;
    earlier_.emplace(earlier, number_, [this] { signal_.notify(); });
    earlier->given_up_from = std::max(earlier->given_up_from, given_up_from_);
    while (earlier->stage == Exchange::Stage::running) {
      if (auto failure = interrupted()) co_return failure;
      co_await wait();
    }
    const bool is_same_policy =
        waits || (earlier->reply && earlier->reply->policy_version == parts_.generator->policy_version());
    if (earlier->reply && is_same_policy) co_return std::nullopt;
    earlier_.reset();
    supersede(*earlier);
  }
  if (const auto cut = retries.find_cut(identity_)) supersede(*cut);
  exchange_ = retries.begin(identity_, reply_.peer(), [this] { signal_.notify(); });
  exchange_->given_up_from = given_up_from_;
  co_return std::nullopt;
}

// Also what was recorded whole, or cut short: its place in the conversation is this call's.
void ChatCall::supersede(const Exchange& earlier) {
  for (const auto call : earlier.calls) {
    parts_.calls->mark_state(call, attempt_->opening.attempt, CallState::superseded);
    attempt_->models.forget(call);
  }
  draw_ = earlier.draw;
  if (draw_) ++draw_->num_given_up;
  if (draw_) context_.metrics.retried("sampled_anew");
  attempt_->retries.forget(earlier);
}

// From memory through the same stages, in this request's own form.
asio::awaitable<ChatCall::Failure> ChatCall::repeat() {
  context_.metrics.retried("repeated");
  const auto reply = earlier_->exchange().reply;
  prompt_.ids = reply->prompt_ids;
  recorded_ = earlier_->exchange().calls;
  auto parsers = co_await make_parsers(reply->starts_in_reasoning);
  for (std::uint32_t i = 0; i < reply->choices.size(); ++i) {
    add_choice(std::move(parsers[i]), {}, reply->call_id_seeds[i]);
    deltas_.emplace_back(i, reply->choices[i]);
  }
  if (auto failure = co_await generate()) co_return failure;
  if (auto failure = co_await deliver()) co_return failure;
  if (is_delivered_) attempt_->retries.note_arrival(recorded_);
  co_return std::nullopt;
}

// The call is over, all but an error that is told; retries of it go on from here.
void ChatCall::settle() {
  earlier_.reset();
  const auto exchange = std::exchange(exchange_, nullptr);
  if (!exchange) return;
  exchange->calls = recorded_;
  exchange->hit_length = std::any_of(choices_.begin(), choices_.end(), [](const auto& choice) {
    return choice.stream.finish() == FinishReason::length;
  });
  const bool is_cut = std::any_of(choices_.begin(), choices_.end(), [](const auto& choice) {
    return choice.stream.finish().value_or(FinishReason::aborted) == FinishReason::aborted;
  });
  const bool is_whole = !is_cut && recorded_.size() == request_.num_choices;
  const bool is_wanted = !is_delivered_ || !exchange->attached.empty();
  const auto ended = is_whole ? Exchange::Stage::whole : Exchange::Stage::failed;
  attempt_->retries.end(exchange, is_delivered_ ? Exchange::Stage::delivered : ended,
                        is_whole && is_wanted ? keep_reply() : nullptr);
}

std::shared_ptr<const KeptReply> ChatCall::keep_reply() const {
  auto kept = std::make_shared<KeptReply>();
  kept->prompt_ids = prompt_.ids;
  kept->starts_in_reasoning = ends_in_reasoning(prompt_.tail_text, parts_.reply_syntax);
  kept->call_id_seeds = call_id_seeds_;
  for (const auto& choice : choices_) {
    const auto& stream = choice.stream;
    GenerateDelta& whole = kept->choices.emplace_back();
    whole.tokens = stream.tokens();
    whole.top_logprobs = stream.top_logprobs();
    whole.prompt_logprobs = stream.prompt_logprobs();
    whole.finish = stream.finish();
    whole.num_cached_prompt_tokens = stream.num_cached_prompt_tokens();
    if (!stream.tokens().empty())
      kept->policy_version = std::max(kept->policy_version, stream.tokens().back().policy_version);
  }
  return kept;
}
}  // namespace corisco::gateway
