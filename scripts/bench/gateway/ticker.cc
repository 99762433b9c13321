#include "ticker.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <utility>

namespace corisco::bench {
namespace asio = boost::asio;
namespace {
std::chrono::nanoseconds period_of(double tokens_per_second) {
  if (tokens_per_second <= 0) return std::chrono::nanoseconds(0);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(1 / tokens_per_second));
}
}  // namespace

Ticker::Ticker(asio::io_context& io, double tokens_per_second)
    : io_(io), period_(period_of(tokens_per_second)), timer_(io) {}

asio::awaitable<bool> Ticker::write(asio::ip::tcp::socket& socket, const std::string& frame, unsigned tokens) {
  if (period_.count() == 0) {
    boost::system::error_code error;
    for (; tokens > 0 && !error; --tokens) asio::write(socket, asio::buffer(frame), error);
    co_return !error;
  }
  const bool is_idle = streams_.empty();
  asio::steady_timer never(io_, asio::steady_timer::time_point::max());
  const auto stream = streams_.insert(streams_.end(), {socket, frame, tokens, std::move(never)});
  if (is_idle) {
    timer_.expires_at(std::chrono::steady_clock::now());
    step();
  }
  if (stream->left > 0 && !stream->is_broken) co_await stream->end.async_wait(asio::as_tuple(asio::use_awaitable));
  const bool is_whole = !stream->is_broken;
  streams_.erase(stream);
  co_return is_whole;
}

void Ticker::step() {
  bool goes_on = false;
  for (auto& stream : streams_) {
    if (stream.left == 0 || stream.is_broken) continue;
    boost::system::error_code error;
    asio::write(stream.socket, asio::buffer(stream.frame), error);
    stream.is_broken = static_cast<bool>(error);
    if (--stream.left == 0 || stream.is_broken) stream.end.cancel();
    else goes_on = true;
  }
  if (!goes_on) return;
  timer_.expires_at(std::max(timer_.expiry() + period_, std::chrono::steady_clock::now()));
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) step();
  });
}
}  // namespace corisco::bench
