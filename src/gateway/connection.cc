#include "gateway/connection.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <utility>

#include "gateway/wire_format.h"

namespace corisco::gateway {
namespace asio = boost::asio;
namespace {
constexpr std::size_t kReadAheadMin = 65536;
}

Connection::Connection(std::unique_ptr<Transport> transport, CallContext& context, Router& router, bool is_in_reserve)
    : executor_(transport->socket().get_executor()), transport_(std::move(transport)), context_(context),
      router_(router), is_in_reserve_(is_in_reserve),
      inbox_(*transport_,
             std::max<std::size_t>(kReadAheadMin, context.parts.config->gateway.header_bytes_max + 8)),
      stall_(executor_) {
  boost::system::error_code ignored;     // the connection works without these, only slower
  auto& socket = transport_->socket();
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  socket.non_blocking(true, ignored);
  const auto remote = socket.remote_endpoint(ignored);
  is_loopback_ = !ignored && remote.address().is_loopback();
}

asio::awaitable<void> Connection::serve() {
  const bool is_open = co_await open();
  if (is_open) {
    inbox_.start(weak_from_this());
    const auto& options = context_.parts.config->gateway;
    RequestReader reader(inbox_, options, is_in_reserve_ ? options.header_seconds_max : options.idle_seconds_max);
    bool goes_on = true;
    while (goes_on && !is_cut_) goes_on = co_await serve_one(reader);
    co_await linger();
  }
  cut();
}

// A handshake may take as long as a head.
asio::awaitable<bool> Connection::open() {
  cut_after(context_.parts.config->gateway.header_seconds_max);
  const auto error = co_await transport_->open();
  cancel_cut();
  if (error) context_.metrics.refused("tls_handshake");
  co_return !error && !is_cut_;
}

Plan Connection::plan_of(const Head& head) {
  return is_in_reserve_ ? router_.plan_when_full(head, is_loopback_) : router_.plan(head, is_loopback_);
}

asio::awaitable<bool> Connection::serve_one(RequestReader& reader) {
  auto outcome = co_await reader.read_head();
  if (const auto* error = std::get_if<ApiError>(&outcome)) {
    ReplyWriter reply(*this, nullptr, context_.new_request_id());
    co_await refuse(reply, *error, ErrorShape::openai);
  }
  if (!std::holds_alternative<Head>(outcome)) co_return false;
  const Head head = std::move(std::get<Head>(outcome));
  auto plan = plan_of(head);
  ReplyWriter reply(*this, &head, context_.new_request_id());
  if (is_in_reserve_) reply.close_after();
  reply.add_to_head(plan.headers);
  std::string text;
  // The client would send its body for nothing, or hold the reserve by it.
  if (plan.refusal && (head.expects_continue || is_in_reserve_)) {
    reply.close_after();
  } else {
    auto body = co_await reader.read_body(head, plan.body_bytes_max,
                                          [this] { return write("HTTP/1.1 100 Continue\r\n\r\n"); });
    if (std::holds_alternative<EndOfRequests>(body)) co_return false;
    const auto* error = std::get_if<ApiError>(&body);
    if (error != nullptr) reply.close_after();
    if (error != nullptr && !(plan.refusal && error->status == 413)) {   // a refusal says more than the size
      co_await refuse(reply, *error, error_shape_of(plan.route.kind));
      co_return false;
    }
    if (error == nullptr) text = std::move(std::get<std::string>(body));
  }
  co_await router_.answer(std::move(plan), head, std::move(text), reply);
  co_return reply.has_begun() && reply.keeps_alive();
}

asio::awaitable<void> Connection::refuse(ReplyWriter& reply, ApiError error, ErrorShape shape) {
  reply.close_after();
  context_.metrics.refused(error.code);
  context_.metrics.answered(RouteKind::unknown, error.status);
  co_await reply.whole(error_reply(error, shape));
}

// Reads on for a moment after the last reply, since closing with unread bytes would make the
// kernel send a reset that can destroy the reply on its way.
asio::awaitable<void> Connection::linger() {
  if (is_gone()) co_return;
  transport_->end_writing();
  const auto deadline = real_clock().now() + std::chrono::seconds(1);
  for (auto wake = Inbox::Wake::more; wake == Inbox::Wake::more && real_clock().now() < deadline;) {
    inbox_.consume(inbox_.bytes().size());
    wake = co_await inbox_.wait_for_more(deadline);
  }
}

void Connection::cut() {
  if (is_cut_) return;
  is_cut_ = true;
  stall_.cancel();
  boost::system::error_code ignored;
  transport_->socket().close(ignored);
  inbox_.leave();
}

void Connection::cut_after(std::uint32_t seconds) {
  stall_.expires_after(std::chrono::seconds(seconds));
  stall_.async_wait([self = weak_from_this()](boost::system::error_code error) {
    const auto connection = self.lock();
    // A cancelled wait, or one that was armed again when it had just expired.
    if (error || !connection || connection->stall_.expiry() > std::chrono::steady_clock::now()) return;
    connection->cut();
  });
}

void Connection::cancel_cut() { stall_.expires_at(std::chrono::steady_clock::time_point::max()); }

void Connection::write_last(const std::string& bytes) {
  if (is_gone()) return;
  boost::system::error_code ignored;     // it is cut anyway
  // A part must not pass for the whole: the end is told behind all of it alone.
  if (transport_->write_some(asio::buffer(bytes), ignored) == bytes.size()) transport_->end_writing();
}

asio::awaitable<bool> Connection::write(std::string bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    if (is_cut_) co_return false;
    boost::system::error_code error;
    const auto rest = asio::buffer(bytes.data() + sent, bytes.size() - sent);
    sent += transport_->write_some(rest, error);
    if (error == asio::error::would_block || error == asio::error::try_again) {
      cut_after(context_.parts.config->gateway.write_seconds_max);
      std::tie(error) = co_await transport_->socket().async_wait(asio::ip::tcp::socket::wait_write,
                                                                 asio::as_tuple(asio::use_awaitable));
      cancel_cut();
    }
    if (error) {
      cut();
      co_return false;
    }
  }
  co_return !is_cut_;
}
}  // namespace corisco::gateway
