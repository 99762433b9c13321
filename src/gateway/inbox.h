// What a peer sends, read ahead into a bounded buffer. One read is always outstanding while there
// is room, so that a peer's going is seen while its request is still worked on.
// Owned by the connection; io thread only.
#pragma once
#include <array>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/signal.h"
#include "gateway/transport.h"

namespace corisco::gateway {
class Inbox {
 public:
  // bytes_max: what is read ahead; at least the largest head.
  Inbox(Transport& transport, std::size_t bytes_max);
  // owner: kept alive while a read is outstanding. Ends when the socket is closed.
  void start(std::weak_ptr<void> owner);

  std::string_view bytes() const { return std::string_view(bytes_).substr(begin_); }
  void consume(std::size_t size);
  bool is_full() const { return bytes().size() >= bytes_max_; }
  // The peer closed its side, or the connection broke.
  bool is_gone() const { return is_gone_; }
  void on_gone(std::function<void()> then) { on_gone_ = std::move(then); }

  // The connection is closed from this side: the same as if the peer went.
  void leave() { went(); }

  enum class Wake { more, gone, timeout };
  // Until there are more bytes than at the call. Bytes that came before the peer went come first.
  boost::asio::awaitable<Wake> wait_for_more(TimePoint deadline);

 private:
  void read();
  void went();

  Transport& transport_;
  std::size_t bytes_max_;
  std::array<char, 16384> chunk_{};      // that the outstanding read fills
  std::string bytes_;
  std::size_t begin_ = 0;                // of bytes_: consumed before it
  std::weak_ptr<void> owner_;
  bool is_reading_ = false;
  bool is_gone_ = false;
  Signal changed_;
  std::function<void()> on_gone_;
};
}  // namespace corisco::gateway
