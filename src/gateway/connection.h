// One connection: request after request, each read, answered, written with a deadline. One in the reserve has
// one request, and only a short one is answered.
// Lives as long as its coroutine. Io thread only.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "gateway/inbox.h"
#include "gateway/peer.h"
#include "gateway/request_reader.h"
#include "gateway/router.h"
#include "gateway/transport.h"

namespace corisco::gateway {
class Connection final : public Peer, public std::enable_shared_from_this<Connection> {
 public:
  // context and router outlive it.
  Connection(std::unique_ptr<Transport> transport, CallContext& context, Router& router, bool is_in_reserve);
  // Until the peer leaves, an error ends it, or cut() is called.
  boost::asio::awaitable<void> serve();
  // Closes at once; a request in hand sees its peer gone.
  void cut();

  boost::asio::awaitable<bool> write(std::string bytes) override;
  void write_last(const std::string& bytes) override;
  bool is_gone() const override { return is_cut_ || inbox_.is_gone(); }
  void on_gone(std::function<void()> then) override { inbox_.on_gone(std::move(then)); }
  boost::asio::any_io_executor executor() const override { return executor_; }

 private:
  boost::asio::awaitable<bool> serve_one(RequestReader& reader);   // false: no further request
  Plan plan_of(const Head& head);
  boost::asio::awaitable<bool> open();
  boost::asio::awaitable<void> refuse(ReplyWriter& reply, ApiError error, ErrorShape shape);
  boost::asio::awaitable<void> linger();
  void cut_after(std::uint32_t seconds);
  void cancel_cut();

  boost::asio::any_io_executor executor_;
  std::unique_ptr<Transport> transport_;
  CallContext& context_;
  Router& router_;
  const bool is_in_reserve_;
  Inbox inbox_;
  boost::asio::steady_timer stall_;      // of the handshake or write under way
  bool is_loopback_ = false;
  bool is_cut_ = false;
};
}  // namespace corisco::gateway
