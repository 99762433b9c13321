// The gate's queue and its count of requests inside. Io thread only; never blocks.
#include "corisco/coordinator/gate.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>

#include "corisco/base/strings.h"

namespace corisco::coordinator {
namespace {
namespace asio = boost::asio;
Error closed_error() {
  return {Code::unavailable, "the daemon is stopping and takes no new requests"};
}
}  // namespace

const char* to_string(GateState state) {
  switch (state) {
    case GateState::open: return "open";
    case GateState::shut: return "shut";
    case GateState::closed: return "closed";
  }
  return "unknown";
}

Gate::Pass& Gate::Pass::operator=(Pass&& other) noexcept {
  if (this == &other) return *this;
  leave();
  gate_ = std::exchange(other.gate_, nullptr);
  return *this;
}

void Gate::Pass::leave() {
  if (auto* gate = std::exchange(gate_, nullptr)) gate->leave();
}

Gate::~Gate() {
  CORISCO_ASSERT(num_inside_ == 0, cat(num_inside_, " requests inside a gate that is destroyed"));
}

Gate::Pass Gate::admit() {
  ++num_inside_;
  return Pass(this);
}

void Gate::leave() {
  CORISCO_ASSERT(num_inside_ > 0, std::string("a pass left twice"));
  if (--num_inside_ > 0 || !when_empty_) return;
  std::exchange(when_empty_, nullptr)();
}

Gate::Place Gate::queue(OnTurn on_turn) {
  if (state_ == GateState::open) {
    on_turn(admit());
    return {};
  }
  if (state_ == GateState::closed) {
    on_turn(closed_error());
    return {};
  }
  waiting_.remove_if([](const auto& waiter) { return waiter.expired(); });
  auto place = Place(std::make_shared<OnTurn>(std::move(on_turn)));
  waiting_.push_back(place.on_turn_);
  return place;
}

asio::awaitable<Result<Gate::Pass>> Gate::enter() {
  asio::steady_timer wake(executor_, asio::steady_timer::time_point::max());
  std::optional<Result<Pass>> turn;
  const Place place = queue([&turn, &wake](Result<Pass> result) {
    turn.emplace(std::move(result));
    wake.cancel();
  });
  if (!turn) co_await wake.async_wait(asio::as_tuple(asio::use_awaitable));
  if (!turn) co_return Error{Code::cancelled, "cancelled while waiting at the gate"};
  co_return std::move(*turn);
}

void Gate::shut() {
  CORISCO_ASSERT(state_ != GateState::closed, std::string("shut() of a closed gate"));
  state_ = GateState::shut;
}

std::shared_ptr<Gate::OnTurn> Gate::take_first() {
  while (!waiting_.empty()) {
    auto first = waiting_.front().lock();
    waiting_.pop_front();
    if (first) return first;
  }
  return nullptr;
}

void Gate::open() {
  if (state_ == GateState::closed) return;
  state_ = GateState::open;
  while (const auto on_turn = take_first()) (*on_turn)(admit());
}

void Gate::close() {
  state_ = GateState::closed;
  while (const auto on_turn = take_first()) (*on_turn)(closed_error());
}

void Gate::when_empty(std::function<void()> then) {
  CORISCO_ASSERT(!when_empty_ || !then, std::string("two waiters for an empty gate"));
  if (then && num_inside_ == 0) return then();
  when_empty_ = std::move(then);
}

std::size_t Gate::num_waiting() const {
  return static_cast<std::size_t>(std::count_if(
      waiting_.begin(), waiting_.end(), [](const auto& waiter) { return !waiter.expired(); }));
}
}  // namespace corisco::coordinator
