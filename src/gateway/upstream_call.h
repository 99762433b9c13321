// One model request that another server replies to: caps, then its bytes there and the reply's bytes back as
// they come. Nothing of it is recorded or trained, and it does not wait at the gate, since that server goes on
// during an update. Lives in its connection's coroutine; owns its connection to the server, which is closed
// when the client leaves, the rollout ends or a deadline passes, and goes back to the pool after a whole reply.
// A request goes there once, but for one case: its connection had waited in the pool and ended before the reply's
// first byte, as one does that the server closed meanwhile. Then it goes once more, on a new one.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>

#include "gateway/auth.h"
#include "gateway/call_context.h"
#include "gateway/reply_writer.h"
#include "gateway/routes.h"
#include "gateway/signal.h"
#include "gateway/upstream_pool.h"
#include "gateway/upstream_reply.h"

namespace corisco::gateway {
class UpstreamCall {
 public:
  // What it is about; all of it outlives the call.
  struct Request {
    const Head& head;
    RouteKind kind;                      // that has an upstream_path
    const std::string& model;            // one of gateway.upstream_urls
    const std::string& body;
  };
  UpstreamCall(CallContext& context, UpstreamPool& pool, Request request, Caller caller, ReplyWriter& reply);
  UpstreamCall(const UpstreamCall&) = delete;
  UpstreamCall& operator=(const UpstreamCall&) = delete;
  ~UpstreamCall();
  boost::asio::awaitable<void> run();

 private:
  // Of the connection to the server. Shared with the timer's handler, which may come after the call's end.
  struct Link;
  using Failure = std::optional<ApiError>;

  boost::asio::awaitable<Failure> keep_to_rate();
  boost::asio::awaitable<Failure> pass_on();
  using Stream = std::unique_ptr<UpstreamStream>;
  // The request there, and its reply's head back.
  boost::asio::awaitable<Failure> ask(HttpUrl url, Stream stream, bool is_open);
  boost::asio::awaitable<Failure> send(HttpUrl url, bool is_open);
  bool may_ask_again() const;
  boost::asio::awaitable<Failure> receive_body();
  boost::asio::awaitable<Failure> receive_more(unsigned seconds_max);
  boost::asio::awaitable<void> wait(TimePoint until);
  Failure interrupted() const;
  ApiError failure(const char* what, const std::string& why);

  CallContext& context_;
  UpstreamPool& pool_;
  const Request request_;
  std::shared_ptr<AttemptState> attempt_;    // null: outside any rollout
  ReplyWriter& reply_;
  Signal signal_;
  const std::uint64_t number_;               // among the attempt's running calls
  std::shared_ptr<Link> link_;
  UpstreamReply received_;
  std::string why_;                          // it failed, for the log; empty: not by the server
};
}  // namespace corisco::gateway
