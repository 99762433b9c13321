// The other end of a connection, as a handler of a request sees it. Io thread only.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <string>

namespace corisco::gateway {
class Peer {
 public:
  // False: the peer is gone, or took nothing for too long and was cut.
  virtual boost::asio::awaitable<bool> write(std::string bytes) = 0;
  // What it takes of the bytes without a wait, and no more after them. Not within a write.
  virtual void write_last(const std::string& bytes) = 0;
  // Its end of file or a reset was seen, or the server is stopping.
  virtual bool is_gone() const = 0;
  // Called at most once, when it goes; null takes the callback back.
  virtual void on_gone(std::function<void()> then) = 0;
  virtual boost::asio::any_io_executor executor() const = 0;
  virtual ~Peer() = default;
};
}  // namespace corisco::gateway
