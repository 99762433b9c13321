// Wakes one waiting coroutine: deltas, a peer's going and deadlines all end in one wait, so that
// nothing has to be cancelled. Io thread only; one waiter.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "corisco/base/clock.h"

namespace corisco::gateway {
class Signal {
 public:
  explicit Signal(const boost::asio::any_io_executor& executor) : timer_(executor) {}
  // A notification without a waiter is kept for the next wait.
  void notify();
  // True when notified, false at the deadline (of the real clock).
  boost::asio::awaitable<bool> wait_until(TimePoint deadline);

 private:
  bool is_set_ = false;
  boost::asio::steady_timer timer_;
};
}  // namespace corisco::gateway
