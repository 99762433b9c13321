// How a chat call ends: what was sampled is recorded, the reply's last bytes are written or the
// error told, and the record says whether the reply arrived.
#include <algorithm>

#include "corisco/base/log.h"
#include "gateway/chat_call.h"
#include "gateway/remembered_reply.h"

namespace corisco::gateway {
namespace asio = boost::asio;
namespace {
// Without reasoning and tool calls.
std::string shown_text(const ChoiceStream& choice) {
  std::string text;
  for (const auto& part : choice.parts())
    if (part.kind == tool_calls::Event::Kind::text) text += part.text;
  return text;
}
}  // namespace

Call ChatCall::make_call(std::uint32_t choice) {
  auto& from = choices_[choice];
  Call call;
  call.id = context_.new_call();
  if (attempt_) call.attempt = attempt_->opening.attempt;
  call.turn = turn_;
  call.choice = choice;
  prompt_.shared.give(call);
  call.split = prompt_.split;
  call.tokens = from.stream.tokens();
  call.finish = from.stream.finish().value_or(FinishReason::aborted);
  call.temperature = from.sampling.temperature;
  const bool is_side = attempt_ && !is_frozen() && attempt_->side_calls.is_side(side_facts());
  if (is_side) context_.metrics.side_calls.add();
  const auto& config = parts_.config->gateway;
  const bool is_left_out =
      (is_side && !config.train_side_calls) || (request_.is_subagents && !config.train_subagents);
  call.state = state_of(from.stream, is_left_out);
  call.is_trainable = attempt_ && attempt_->opening.mode == Mode::train && from.sampling.temperature > 0 &&
                      !is_frozen() && !is_left_out;
  if (call.is_trainable) call.routed_experts = from.stream.take_routed_experts();
  call.reply_text = from.stream.text();
  call.parse_errors = from.stream.parse_errors();
  context_.metrics.parse_errors.add(static_cast<double>(call.parse_errors.size()));
  call.started_unix_seconds = started_unix_seconds_;
  return call;
}

CallState ChatCall::state_of(const ChoiceStream& choice, bool is_left_out) const {
  if (is_frozen()) return CallState::frozen;
  if (choice.finish().value_or(FinishReason::aborted) == FinishReason::aborted) return CallState::aborted;
  return is_left_out ? CallState::side : CallState::used;
}

SideCalls::Facts ChatCall::side_facts() const {
  return {!request_.tools_json.empty(), is_early_, prompt_.match.node == nullptr};
}

asio::awaitable<ChatCall::Failure> ChatCall::record(std::uint32_t choice) {
  choices_[choice].is_recorded = true;
  if (earlier_) co_return std::nullopt;   // by the call that sampled it
  if (request_.samples_nothing()) co_return std::nullopt;
  auto call = make_call(choice);
  const auto id = call.id;
  const auto state = call.state;
  const auto result = co_await parts_.calls->record(std::move(call));
  if (!result.ok()) {
    log::error(cat("a call could not be recorded: ", result.error().message));
    note_machine_error(result.error());
    co_return from_error(result.error());
  }
  recorded_.push_back(id);
  if (attempt_) learn_from_recorded(choice, id, state);
  co_return std::nullopt;
}

// What later requests of the attempt are read by.
void ChatCall::learn_from_recorded(std::uint32_t choice, CallId call, CallState state) {
  const auto& stream = choices_[choice].stream;
  if (!is_frozen()) attempt_->side_calls.note_reply(side_facts(), call, prompt_.tail_text, shown_text(stream));
  note_model(call, state);
  remember_reply(context_, *attempt_, prompt_, request_, stream, call);
}

asio::awaitable<ChatCall::Failure> ChatCall::deliver() {
  if (attempt_ && !is_frozen() && !request_.samples_nothing()) {
    attempt_->summary.hit_context = false;
    attempt_->summary.hit_length = std::any_of(choices_.begin(), choices_.end(), [](const auto& choice) {
      return choice.stream.finish() == FinishReason::length;
    });
  }
  if (auto failure = interrupted()) co_return failure;
  const auto streams = std::make_shared<std::vector<ChoiceStream>>();
  Usage usage;
  usage.prompt_tokens = prompt_.ids.size();
  for (auto& choice : choices_) {
    usage.add(choice.stream);
    streams->push_back(std::move(choice.stream));
  }
  if (!is_peer_gone()) {
    Streams shown = streams;
    is_delivered_ = co_await send_last(std::move(shown), usage);
  }
  for (std::size_t i = 0; i < streams->size(); ++i) choices_[i].stream = std::move((*streams)[i]);
  if (attempt_ && is_delivered_) ++attempt_->summary.num_delivered;
  mark_recorded();
  co_return std::nullopt;
}

asio::awaitable<bool> ChatCall::send_last(Streams streams, Usage usage) {
  if (request_.is_stream) {
    const auto last = co_await done_text(streams, usage);
    unsent_ += last;
    if (attempt_) wire_->remember(attempt_->responses);
    co_return co_await reply_.end(std::exchange(unsent_, {}));
  }
  Reply reply;
  auto text = co_await whole_text(streams);
  reply.body = std::move(text);
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
  mark_recorded();
}

asio::awaitable<void> ChatCall::tell(ApiError error) {
  if (reply_.peer().is_gone()) co_return;
  context_.metrics.refused(error.code);
  if (!reply_.has_begun()) {
    co_await reply_.whole(error_reply(error, format_.error_shape()));
  } else if (request_.is_stream) {
    co_await reply_.end(std::exchange(unsent_, {}) + wire_->failure(error));
  } else {
    reply_.close_after();   // signs of life spent its status: a body that ends would pass for the reply
  }
}

// The server ends, and its connections with it.
void ChatCall::tell_at_once(const ApiError& error) {
  if (!is_waiting_ || is_peer_gone()) return;
  if (!reply_.has_begun()) reply_.whole_at_once(error_reply(error, format_.error_shape()));
  else if (request_.is_stream) reply_.end_at_once(std::exchange(unsent_, {}) + wire_->failure(error));
}

// The attempt is tried again rather than trained: it was not the policy's doing.
void ChatCall::note_machine_error(const Error& error) {
  const bool is_ours = error.code == Code::internal || error.code == Code::unavailable ||
                       error.code == Code::overloaded;
  if (attempt_ && is_ours) attempt_->summary.saw_engine_error = true;
}

void ChatCall::mark_recorded() {
  if (earlier_ && !is_delivered_) return;   // as before
  const auto attempt = attempt_ ? attempt_->opening.attempt : AttemptKey{};
  for (const auto id : recorded_) {
    parts_.calls->mark_delivered(id, attempt, is_delivered_);
    if (attempt_ && is_delivered_) attempt_->conversations_of(request_).calls.note_delivered(id);
    if (!is_delivered_) context_.metrics.undelivered.add();
  }
}
}  // namespace corisco::gateway
