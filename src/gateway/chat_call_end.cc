// How a chat call ends: what was sampled is recorded, the reply's last bytes are written or the
// error told, and the record says whether the reply arrived.
#include <algorithm>

#include "corisco/base/log.h"
#include "gateway/chat_call.h"

namespace corisco::gateway {
namespace asio = boost::asio;

Call ChatCall::make_call(std::uint32_t choice) {
  const auto& from = choices_[choice];
  Call call;
  call.id = context_.new_call();
  if (attempt_) call.attempt = attempt_->opening.attempt;
  call.turn = turn_;
  call.choice = choice;
  call.prompt_ids = prompt_.ids;
  call.tokens = from.stream.tokens();
  call.finish = from.stream.finish().value_or(FinishReason::aborted);
  call.temperature = from.sampling.temperature;
  const bool is_side = is_side_call();
  if (is_side) context_.metrics.side_calls.add();
  call.is_trainable = attempt_ && attempt_->opening.mode == Mode::train && from.sampling.temperature > 0 &&
                      (!is_side || parts_.config->gateway.train_side_calls);
  call.request_json = request_.sent_messages_json;
  call.reply_text = from.stream.text();
  call.parse_errors = from.stream.parse_errors();
  context_.metrics.parse_errors.add(static_cast<double>(call.parse_errors.size()));
  call.started_unix_seconds = started_unix_seconds_;
  return call;
}

// What a harness with tools asks without them while its first turn is under way, in a conversation of its
// own: a title, a topic. Later such calls are its work: they compact a history, or are a sub-agent's.
bool ChatCall::is_side_call() const {
  return attempt_ && attempt_->has_tools && is_beside_first_turn_ && request_.tools_json.empty() &&
         prompt_.match.node == nullptr;
}

asio::awaitable<ChatCall::Failure> ChatCall::record(std::uint32_t choice) {
  choices_[choice].is_recorded = true;
  auto call = make_call(choice);
  const auto id = call.id;
  std::vector<TokenId> reply_ids;
  for (const auto& token : call.tokens) reply_ids.push_back(token.id);
  const auto result = co_await parts_.calls->record(std::move(call));
  if (!result.ok()) {
    log::error(cat("a call could not be recorded: ", result.error().message));
    note_machine_error(result.error());
    co_return from_error(result.error());
  }
  recorded_.push_back(id);
  if (attempt_ && !request_.tools_json.empty()) attempt_->has_answered_tools = true;
  if (attempt_)
    attempt_->calls.add(prompt_.match, prompt_.tail_text, prompt_.tail_ids,
                        parts_.tokenizer->decode(reply_ids, true), reply_ids, id);
  co_return std::nullopt;
}

asio::awaitable<ChatCall::Failure> ChatCall::deliver() {
  if (attempt_) attempt_->summary.hit_context = false;
  if (attempt_)
    attempt_->summary.hit_length = std::any_of(choices_.begin(), choices_.end(), [](const auto& choice) {
      return choice.stream.finish() == FinishReason::length;
    });
  if (auto failure = interrupted()) co_return failure;
  std::vector<ChoiceStream> streams;
  Usage usage;
  usage.prompt_tokens = prompt_.ids.size();
  for (auto& choice : choices_) {
    usage.add(choice.stream);
    streams.push_back(std::move(choice.stream));
  }
  const bool is_delivered = co_await send_last(streams, usage);
  if (attempt_ && is_delivered) ++attempt_->summary.num_delivered;
  mark_recorded(is_delivered);
  co_return std::nullopt;
}

asio::awaitable<bool> ChatCall::send_last(const std::vector<ChoiceStream>& streams, Usage usage) {
  if (request_.is_stream) {
    unsent_ += wire_->done(usage);
    if (attempt_) wire_->remember(attempt_->responses);
    co_return co_await reply_.end(std::exchange(unsent_, {}));
  }
  Reply reply;
  reply.body = wire_->whole(streams, prompt_.ids);
  if (attempt_) wire_->remember(attempt_->responses);
  if (reply_.has_begun()) co_return co_await reply_.end(std::move(reply.body));
  co_return co_await reply_.whole(std::move(reply));
}

// After a failure: nothing is generated any more, and what was sampled until now is kept.
asio::awaitable<void> ChatCall::abandon() {
  for (auto& choice : choices_) cancel(choice);
  pass_.leave();
  end_hold();
  for (auto& [choice, delta] : deltas_)
    if (!choices_[choice].stream.finish()) (void)choices_[choice].stream.push(std::move(delta));
  deltas_.clear();
  for (std::uint32_t i = 0; i < choices_.size(); ++i) {
    if (choices_[i].is_recorded || choices_[i].stream.tokens().empty()) continue;
    (void)co_await record(i);   // logged there; the call has failed already
  }
  mark_recorded(false);
}

asio::awaitable<void> ChatCall::tell(ApiError error) {
  if (reply_.peer().is_gone()) co_return;
  context_.metrics.refused(error.code);
  if (!reply_.has_begun()) {
    co_await reply_.whole(error_reply(error, format_.error_shape()));
  } else if (request_.is_stream) {
    co_await reply_.end(std::exchange(unsent_, {}) + wire_->failure(error));
  } else {
    co_await reply_.end(to_json(error, format_.error_shape()));
  }
}

// The attempt is tried again rather than trained: it was not the policy's doing.
void ChatCall::note_machine_error(const Error& error) {
  const bool is_ours = error.code == Code::internal || error.code == Code::unavailable || error.code == Code::overloaded;
  if (attempt_ && is_ours) attempt_->summary.saw_engine_error = true;
}

void ChatCall::mark_recorded(bool is_delivered) {
  const auto attempt = attempt_ ? attempt_->opening.attempt : AttemptKey{};
  for (const auto id : recorded_) {
    parts_.calls->mark_delivered(id, attempt, is_delivered);
    if (!is_delivered) context_.metrics.undelivered.add();
  }
  recorded_.clear();
}
}  // namespace corisco::gateway
