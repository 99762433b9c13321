// What an attempt may ask of the model: so many calls in a minute, and so many in all. After the last
// one the harness is told to stop by a turn that the gateway makes itself, since agents end well on a
// final text and badly on an error; one that goes on all the same gets errors.
#include <algorithm>

#include "gateway/attempt_limits.h"
#include "gateway/chat_call.h"

namespace corisco::gateway {
namespace asio = boost::asio;
namespace {
constexpr std::uint32_t kFinalTurnsMax = 5;   // of an attempt
constexpr const char* kFinalText = "The rollout's call limit is reached; stop here.";
}  // namespace

// Counts the call. False: the attempt has none left.
bool ChatCall::admit() {
  if (!attempt_) return true;
  if (is_at_call_cap(attempt_.get(), parts_.config->gateway)) {
    attempt_->summary.hit_call_cap = true;
    return false;
  }
  if (!is_frozen()) is_early_ = attempt_->side_calls.note_request(!request_.tools_json.empty());
  ++attempt_->summary.num_calls;
  turn_ = attempt_->next_turn++;
  return true;
}

asio::awaitable<ChatCall::Failure> ChatCall::keep_to_rate() {
  if (!attempt_) co_return std::nullopt;
  const std::function<Failure()> is_over = [this] { return interrupted(); };
  const std::function<asio::awaitable<void>(TimePoint)> wait_for = [this](TimePoint moment) { return wait(moment); };
  co_return co_await gateway::keep_to_rate(*attempt_, parts_.config->gateway.calls_per_minute_max, context_.metrics,
                                           is_over, wait_for);
}

// Made of text alone: nothing was sampled, so nothing is recorded, and no draw counts it.
asio::awaitable<ChatCall::Failure> ChatCall::end_harness() {
  if (attempt_->num_final_turns >= kFinalTurnsMax) {
    const auto cap = parts_.config->gateway.calls_per_attempt_max;
    auto error = from_error(
        {Code::overloaded, cat("this rollout may call the model ", cap, " times and has done so")});
    error.code = "call_cap_reached";
    error.retry_after_seconds = 0;
    error.is_final = true;
    co_return error;
  }
  ++attempt_->num_final_turns;
  context_.metrics.final_turns.add();
  std::vector<ChoiceStream> streams;
  for (std::uint32_t i = 0; i < request_.num_choices; ++i) {
    auto& stream = streams.emplace_back(parts_.tokenizer, std::vector<std::string>(), std::vector<TokenId>());
    if (request_.is_stream) unsent_ += wire_->opening(i, {});
    const auto piece = stream.say(kFinalText);
    if (request_.is_stream) unsent_ += wire_->piece(i, piece) + wire_->ending(i, stream);
  }
  if (request_.is_stream) {
    if (auto failure = co_await flush()) co_return failure;
  }
  const Usage nothing_sampled;
  const Streams said = std::make_shared<const std::vector<ChoiceStream>>(std::move(streams));
  is_delivered_ = co_await send_last(said, nothing_sampled);
  co_return std::nullopt;
}
}  // namespace corisco::gateway
