// The bytes of one connection, plain or inside TLS. Nothing here blocks or knows HTTP; deadlines are
// its owner's. Owned by the connection; io thread only.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <utility>

namespace corisco::gateway {
class Transport {
 public:
  using OnRead = std::function<void(boost::system::error_code, std::size_t)>;

  // The owner makes the socket non-blocking before it calls anything here.
  explicit Transport(boost::asio::ip::tcp::socket socket) : socket_(std::move(socket)) {}
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  // Once, before anything is read or written. After an error nothing more can be said to the peer.
  virtual boost::asio::awaitable<boost::system::error_code> open() = 0;
  // One read at a time. on_read is never called from within, and once whatever happens, so it may
  // hold what must outlive the read, this transport too.
  virtual void read_some(boost::asio::mutable_buffer into, OnRead on_read) = 0;
  // As much as is taken now. After would_block the same bytes are offered again when the socket can
  // be written.
  virtual std::size_t write_some(boost::asio::const_buffer from, boost::system::error_code& error) = 0;
  // Tells the peer that what it got is all there is.
  virtual void end_writing() = 0;

  boost::asio::ip::tcp::socket& socket() { return socket_; }

 private:
  boost::asio::ip::tcp::socket socket_;
};

std::unique_ptr<Transport> plain_transport(boost::asio::ip::tcp::socket socket);
}  // namespace corisco::gateway
