// One model request that another server replies to: caps, then its bytes there and the reply's bytes back as
// they come. Nothing of it is recorded or trained, and it does not wait at the gate, since that server goes on
// during an update. Lives in its connection's coroutine; owns its connection to the server, which is closed
// when the client leaves, the rollout ends or a deadline passes.
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
#include "gateway/upstream_reply.h"
#include "gateway/upstream_stream.h"

namespace corisco::gateway {
class UpstreamCall {
 public:
  // What it is about; all of it outlives the call.
  struct Request {
    const Head& head;
    RouteKind kind;                      // that has an upstream_path
    const std::string& model;            // one of gateway.upstream_urls
  };
  UpstreamCall(CallContext& context, const UpstreamStreams& streams, Request request, Caller caller,
               ReplyWriter& reply);
  UpstreamCall(const UpstreamCall&) = delete;
  UpstreamCall& operator=(const UpstreamCall&) = delete;
  ~UpstreamCall();
  boost::asio::awaitable<void> run(std::string body);

 private:
  // Of the connection to the server. Shared with the timer's handler, which may come after the call's end.
  struct Link;
  using Failure = std::optional<ApiError>;

  boost::asio::awaitable<Failure> keep_to_rate();
  boost::asio::awaitable<Failure> pass_on(std::string body);
  boost::asio::awaitable<Failure> send(const HttpUrl& url, std::string body);
  boost::asio::awaitable<Failure> receive_head();
  boost::asio::awaitable<Failure> receive_body();
  boost::asio::awaitable<Failure> receive_more(unsigned seconds_max);
  boost::asio::awaitable<void> wait(TimePoint until);
  Failure interrupted() const;
  ApiError failure(const char* what, const std::string& why) const;

  CallContext& context_;
  const UpstreamStreams& streams_;
  const Request request_;
  std::shared_ptr<AttemptState> attempt_;    // null: outside any rollout
  ReplyWriter& reply_;
  Signal signal_;
  const std::uint64_t number_;               // among the attempt's running calls
  std::shared_ptr<Link> link_;
  UpstreamReply received_;
};
}  // namespace corisco::gateway
