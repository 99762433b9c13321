// One keep-alive connection of the load generator to the measured server on loopback. Requests are
// given as bytes; of a reply only its status, size and times are kept, so that the load costs little.
#pragma once
#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <string_view>

#include "events.h"

namespace corisco::bench {
struct Outcome {
  unsigned status = 0;                 // 0: the connection failed
  std::size_t body_bytes = 0;
  TimePoint sent, first_byte, end;
};

class Client {
 public:
  Client(boost::asio::io_context& io, std::uint16_t port);
  boost::asio::awaitable<bool> connect();
  // Sends the request and reads its reply to the end; events may be null. Reconnects where the
  // server closes after a reply. request and events live until it returns.
  boost::asio::awaitable<Outcome> call(std::string_view request, Events* events);
  void cut();                          // what waits on the connection returns

 private:
  boost::asio::awaitable<bool> send(std::string_view request);
  boost::asio::awaitable<bool> read_reply(Outcome& outcome, Events* events);
  boost::asio::ip::tcp::socket socket_;
  boost::asio::ip::tcp::endpoint server_;
  std::array<char, 65536> bytes_{};
};
}  // namespace corisco::bench
