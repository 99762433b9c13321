#include "gateway/signal.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

namespace corisco::gateway {
namespace asio = boost::asio;

void Signal::notify() {
  is_set_ = true;
  timer_.cancel();
}

asio::awaitable<bool> Signal::wait_until(TimePoint deadline) {
  if (!is_set_) {
    timer_.expires_at(std::chrono::time_point_cast<asio::steady_timer::duration>(deadline));
    co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
  }
  co_return std::exchange(is_set_, false);
}
}  // namespace corisco::gateway
