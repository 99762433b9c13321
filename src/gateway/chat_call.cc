// The stages of a chat call, in their order. Its attempt's caps: chat_call_caps.cc. A request that is sent
// again: chat_call_retry.cc. The prompt and its choices: chat_call_plan.cc. What its reply must be:
// chat_call_grammar.cc. Its texts: chat_call_text.cc. What is recorded and how it ends: chat_call_end.cc.
#include "gateway/chat_call.h"

#include <algorithm>

#include "corisco/base/log.h"
#include "gateway/attempt_limits.h"
#include "gateway/model_names.h"
#include "gateway/responses_recall.h"

namespace corisco::gateway {
namespace asio = boost::asio;
namespace {
constexpr const char* kEventStream = "text/event-stream; charset=utf-8";
constexpr Duration kSignIntervalMin = std::chrono::seconds(1);   // whatever a client says of its patience

Duration to_duration(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

// A wait of which the client is told in time: usual, or a part of what it says that it waits at most.
Duration told_within(Duration usual, const std::optional<double>& patience_seconds, double part) {
  if (!patience_seconds) return usual;
  return std::min(usual, std::max(kSignIntervalMin, to_duration(part * *patience_seconds)));
}
}  // namespace

ChatCall::ChatCall(CallContext& context, const WireFormat& format, Caller caller, ReplyWriter& reply,
                   Marks marks)
    : context_(context), parts_(context.parts), format_(format), attempt_(std::move(caller.attempt)), reply_(reply),
      signal_(reply.peer().executor()),
      heartbeat_(told_within(parts_.heartbeat, marks.retry.patience_seconds, 1.0 / 3)),
      next_heartbeat_(real_clock().now() + told_within(parts_.silent_hold, marks.retry.patience_seconds, 2.0 / 3)),
      started_unix_seconds_(parts_.clock->unix_seconds()), number_(context.next_request++),
      marks_(marks), given_up_from_(parts_.clock->now() + to_duration(marks.retry.patience_seconds.value_or(0))) {
  context_.farewells.emplace(number_, [this](const ApiError& error) { tell_at_once(error); });
  if (attempt_) attempt_->running.emplace(number_, [this] { signal_.notify(); });
  reply_.peer().on_gone([this] { signal_.notify(); });
}

ChatCall::~ChatCall() {
  context_.farewells.erase(number_);
  for (auto& choice : choices_) cancel(choice);
  end_hold();
  reply_.peer().on_gone(nullptr);
  settle();
  if (attempt_) attempt_->running.erase(number_);
}

asio::awaitable<void> ChatCall::run(RequestBody body) {
  const auto begun = parts_.clock->now();
  const auto failure = co_await answer(std::move(body));
  if (failure) co_await abandon();
  settle();
  if (failure) co_await tell(*failure);
  context_.metrics.request_seconds.observe(seconds_between(begun, parts_.clock->now()));
}

asio::awaitable<ChatCall::Failure> ChatCall::answer(RequestBody body) {
  if (auto failure = co_await parse(std::move(body))) co_return failure;
  if (auto failure = co_await follow_earlier()) co_return failure;
  if (earlier_) co_return co_await repeat();
  if (!admit()) co_return co_await end_harness();
  if (auto failure = co_await keep_to_rate()) co_return failure;
  if (auto failure = co_await pass_gate()) co_return failure;
  if (auto failure = co_await prepare()) co_return failure;
  if (auto failure = submit()) co_return failure;
  if (auto failure = co_await generate()) co_return failure;
  co_return co_await deliver();
}

asio::awaitable<ChatCall::Failure> ChatCall::parse(RequestBody body) {
  ChatLimits limits;
  limits.choices_max = parts_.config->gateway.choices_max;
  const auto size = body.num_bytes();
  auto work = [&format = format_, limits, body = std::move(body)] {
    auto outcome = format.parse(body, limits);
    const auto* request = std::get_if<ChatRequest>(&outcome);
    auto identity = request == nullptr ? RequestIdentity{} : identity_of(*request, format);
    return std::pair(std::move(outcome), std::move(identity));
  };
  auto parsed = co_await context_.worker.run(size, std::move(work));
  if (auto* error = std::get_if<ApiError>(&parsed.first)) co_return std::move(*error);
  identity_ = std::move(parsed.second);
  if (auto failure = take(std::move(std::get<ChatRequest>(parsed.first)))) co_return failure;
  if (auto failure = co_await recall_earlier(context_, request_, attempt_.get())) co_return failure;
  co_return interrupted();
}

// Who is asked, and in which form the reply goes.
ChatCall::Failure ChatCall::take(ChatRequest request) {
  request_ = std::move(request);
  request_.is_subagents |= marks_.is_subagents;
  context_.metrics.tools_left_out.add(request_.num_tools_left_out);
  if (auto unknown = unknown_model(parts_.config->gateway, request_.model)) return unknown;
  request_.role = role_of(parts_.config->gateway, request_.model);
  const bool has_calls = !is_at_call_cap(attempt_.get(), parts_.config->gateway);
  if (request_.role == ModelRole::upstream && has_calls) return not_passed_on();
  const auto& model = request_.model.empty() ? parts_.model_name : request_.model;
  wire_ = format_.start_reply({reply_.request_id(), model, started_unix_seconds_, parts_.tokenizer}, request_);
  return std::nullopt;
}

asio::awaitable<ChatCall::Failure> ChatCall::pass_gate() {
  begin_hold();
  const auto arrived = parts_.clock->now();
  std::optional<Result<coordinator::Gate::Pass>> turn;
  const auto place = parts_.gate->queue([this, &turn](Result<coordinator::Gate::Pass> result) {
    turn.emplace(std::move(result));
    signal_.notify();
  });
  context_.metrics.held.set(static_cast<double>(parts_.gate->num_waiting()));
  while (!turn) {
    if (auto failure = interrupted()) co_return failure;
    co_await wait();
  }
  context_.metrics.held.set(static_cast<double>(parts_.gate->num_waiting()));
  context_.metrics.held_seconds.observe(seconds_between(arrived, parts_.clock->now()));
  if (!turn->ok()) co_return from_error(turn->error());
  pass_ = std::move(*turn).value();
  co_return interrupted();
}

ChatCall::Failure ChatCall::submit() {
  for (std::uint32_t i = 0; i < choices_.size(); ++i) {
    GenerateRequest request;
    request.id = context_.new_sequence();
    if (attempt_) request.attempt = attempt_->opening.attempt;
    if (attempt_) request.queue_order = attempt_->opening.queue_order;
    request.prompt_ids = prompt_.ids;
    request.sampling = choices_[i].sampling;
    request.grammar = grammar_;
    if (i == 0) request.prompt_logprobs = request_.prompt_alternatives();   // the others' are the same
    choices_[i].sequence = request.id;
    const auto submitted = parts_.generator->submit(
        std::move(request), [this, i](GenerateDelta delta) { on_delta(i, std::move(delta)); });
    if (submitted.ok()) continue;
    choices_[i].sequence.reset();
    note_machine_error(submitted.error());
    return from_error(submitted.error());
  }
  // Only a prompt that was sampled from counts, so that a full queue changes no later draw.
  if (!repeats_draw_ && !request_.samples_nothing())
    ++(attempt_ ? attempt_->conversations_of(request_).prompts_seen[draw_->prompt] : context_.num_unseeded);
  if (exchange_) exchange_->draw = draw_;
  return std::nullopt;
}

void ChatCall::on_delta(std::uint32_t choice, GenerateDelta delta) {
  if (!delta.tokens.empty() || delta.finish) end_hold();
  if (delta.finish || delta.error) choices_[choice].sequence.reset();
  deltas_.emplace_back(choice, std::move(delta));
  if (!is_generating()) pass_.leave();   // writing to a slow reader must not hold up an update
  signal_.notify();
}

// Consumes deltas until every choice is finished; unblocked by on_delta, the peer's going, the
// attempt's closing.
asio::awaitable<ChatCall::Failure> ChatCall::generate() {
  if (request_.is_stream) {
    if (auto failure = co_await begin_stream()) co_return failure;
  }
  while (is_generating() || !deltas_.empty()) {
    if (auto failure = interrupted()) co_return failure;
    if (deltas_.empty()) co_await wait();
    while (!deltas_.empty()) {
      auto [choice, delta] = std::move(deltas_.front());
      deltas_.pop_front();
      if (auto failure = co_await take(choice, std::move(delta))) co_return failure;
    }
    if (auto failure = co_await flush()) co_return failure;
  }
  co_return std::nullopt;
}

asio::awaitable<ChatCall::Failure> ChatCall::begin_stream() {
  if (request_.echoes_logprobs())
    if (auto failure = co_await await_scored_prompt()) co_return failure;
  const auto openings = co_await openings_text();
  unsent_ += openings;
  co_return co_await flush();
}

// The first choice's sequence tells them with its first delta, which is taken later. If that is an error, nothing of
// the stream has been sent, and its status is still free.
asio::awaitable<ChatCall::Failure> ChatCall::await_scored_prompt() {
  const auto is_first_choice = [](const auto& delta) { return delta.first == 0; };
  for (;;) {
    const auto found = std::find_if(deltas_.begin(), deltas_.end(), is_first_choice);
    if (found != deltas_.end()) {
      if (!found->second.error) {
        wire_->score_prompt(found->second.prompt_logprobs);
        co_return std::nullopt;
      }
      auto failed = std::move(found->second);
      deltas_.erase(found);
      co_return co_await take(0, std::move(failed));
    }
    if (auto failure = interrupted()) co_return failure;
    co_await wait();
  }
}

asio::awaitable<ChatCall::Failure> ChatCall::take(std::uint32_t choice, GenerateDelta delta) {
  auto& taken = choices_[choice];
  if (taken.stream.finish()) co_return std::nullopt;   // a stop string ended it before the engine did
  const auto error = delta.error;
  const auto piece = taken.stream.push(std::move(delta));
  if (error || taken.stream.finish() == FinishReason::aborted) {
    const Error failed = error ? *error : Error{Code::unavailable, "the reply was ended by the daemon"};
    note_machine_error(failed);
    co_return from_error(failed);
  }
  if (request_.is_stream) unsent_ += wire_->piece(choice, piece);
  if (!taken.stream.finish()) co_return std::nullopt;
  cancel(taken);
  if (!is_generating()) pass_.leave();
  if (auto failure = co_await record(choice)) co_return failure;
  if (!request_.is_stream) co_return std::nullopt;
  const auto ending = co_await ending_text(choice);
  unsent_ += ending;
  co_return std::nullopt;
}

asio::awaitable<ChatCall::Failure> ChatCall::flush() {
  if (unsent_.empty()) co_return std::nullopt;
  if (is_peer_gone()) {                  // it may run on, for a retry
    unsent_.clear();
    co_return interrupted();
  }
  if (!reply_.has_begun()) {
    const bool is_begun = co_await reply_.begin(kEventStream);
    if (!is_begun) co_return interrupted();
  }
  const bool is_sent = co_await reply_.piece(std::exchange(unsent_, {}));
  next_heartbeat_ = real_clock().now() + heartbeat_;
  if (is_sent) co_return std::nullopt;
  co_return interrupted();
}

bool ChatCall::is_generating() const {
  return std::any_of(choices_.begin(), choices_.end(),
                     [](const auto& choice) { return choice.sequence.has_value(); });
}

void ChatCall::cancel(Choice& choice) {
  if (const auto sequence = std::exchange(choice.sequence, std::nullopt)) parts_.generator->cancel(*sequence);
}

asio::awaitable<void> ChatCall::wait(TimePoint until) {
  const auto deadline = std::min(until, next_heartbeat_);
  is_waiting_ = true;
  const bool is_notified = co_await signal_.wait_until(deadline);
  is_waiting_ = false;
  if (is_notified || deadline < next_heartbeat_) co_return;
  next_heartbeat_ = real_clock().now() + heartbeat_;
  co_await send_heartbeat();
}

asio::awaitable<void> ChatCall::send_heartbeat() {
  if (is_peer_gone()) co_return;
  // Named, since g++ 12 destroys a conditional temporary inside a co_await expression twice.
  const std::string content_type = request_.is_stream ? kEventStream : "application/json";
  const std::string sign = request_.is_stream ? wire_->heartbeat() : " ";
  if (!reply_.has_begun()) {
    const bool is_begun = co_await reply_.begin(content_type);
    if (!is_begun) co_return;
  }
  co_await reply_.piece(sign);
}

ChatCall::Failure ChatCall::interrupted() const {
  const bool is_wanted = exchange_ && !exchange_->attached.empty();   // by a retry
  return interruption(is_peer_gone() && !is_wanted, attempt_.get());
}

void ChatCall::begin_hold() {
  is_held_ = true;
  if (attempt_) attempt_->held.begin(parts_.clock->now());
}

void ChatCall::end_hold() {
  if (std::exchange(is_held_, false) && attempt_) attempt_->held.end(parts_.clock->now());
}
}  // namespace corisco::gateway
