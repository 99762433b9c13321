#include "gateway/transport.h"

namespace corisco::gateway {
namespace asio = boost::asio;
namespace {
class PlainTransport final : public Transport {
 public:
  using Transport::Transport;

  asio::awaitable<boost::system::error_code> open() override { co_return boost::system::error_code(); }
  void read_some(asio::mutable_buffer into, OnRead on_read) override {
    socket().async_read_some(into, std::move(on_read));
  }
  std::size_t write_some(asio::const_buffer from, boost::system::error_code& error) override {
    return socket().write_some(from, error);
  }
  void end_writing() override {
    boost::system::error_code ignored;     // the peer may be gone already
    socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  }
};
}  // namespace

std::unique_ptr<Transport> plain_transport(asio::ip::tcp::socket socket) {
  return std::make_unique<PlainTransport>(std::move(socket));
}
}  // namespace corisco::gateway
