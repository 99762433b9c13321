// Gives every stream a token each period, all in one step, as decode steps do.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <list>
#include <string>

namespace corisco::bench {
class Ticker {
 public:
  // tokens_per_second 0: a stream's tokens come all at once.
  Ticker(boost::asio::io_context& io, double tokens_per_second);
  // Writes the frame, which is a whole chunk, so many times. The first comes at the next step, at once
  // if no other stream runs. Returns when the last is written; false: the reader has gone.
  boost::asio::awaitable<bool> write(boost::asio::ip::tcp::socket& socket, const std::string& frame, unsigned tokens);

 private:
  struct Stream {
    boost::asio::ip::tcp::socket& socket;
    const std::string& frame;
    unsigned left;
    boost::asio::steady_timer end;     // cancelled when the last token is written
    bool is_broken = false;
  };
  void step();
  boost::asio::io_context& io_;
  const std::chrono::nanoseconds period_;
  boost::asio::steady_timer timer_;
  std::list<Stream> streams_;          // in the order of their coming
};
}  // namespace corisco::bench
