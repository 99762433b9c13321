#include "client.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <cstring>
#include <tuple>

namespace corisco::bench {
namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
namespace {
constexpr auto kNoThrow = asio::as_tuple(asio::use_awaitable);

// A reply without its fields' texts.
class ReplyParser final : public http::basic_parser<false> {
 public:
  explicit ReplyParser(Events* events) : events_(events) {
    eager(true);
    body_limit(std::uint64_t{1} << 30);
  }
  unsigned status() const { return status_; }
  std::size_t body_bytes() const { return body_bytes_; }
  void set_time(TimePoint now) { now_ = now; }

 private:
  using string_view = boost::beast::string_view;
  void on_request_impl(http::verb, string_view, string_view, int, error_code&) override {}
  void on_response_impl(int status, string_view, int, error_code&) override { status_ = static_cast<unsigned>(status); }
  void on_field_impl(http::field, string_view, string_view, error_code&) override {}
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(boost::optional<std::uint64_t> const&, error_code&) override {}
  std::size_t on_body_impl(string_view piece, error_code&) override { return take(piece); }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view piece, error_code&) override { return take(piece); }
  void on_finish_impl(error_code&) override {}

  std::size_t take(string_view piece) {
    body_bytes_ += piece.size();
    if (events_ != nullptr) events_->feed({piece.data(), piece.size()}, now_);
    return piece.size();
  }
  Events* events_;
  unsigned status_ = 0;
  std::size_t body_bytes_ = 0;
  TimePoint now_;
};
}  // namespace

Client::Client(asio::io_context& io, std::uint16_t port)
    : socket_(io), server_(asio::ip::address_v4::loopback(), port) {}

asio::awaitable<bool> Client::connect() {
  auto [error] = co_await socket_.async_connect(server_, kNoThrow);
  if (error) co_return false;
  socket_.set_option(tcp::no_delay(true), error);
  socket_.non_blocking(true, error);
  co_return true;
}

asio::awaitable<Outcome> Client::call(std::string_view request, Events* events) {
  Outcome outcome;
  if (!socket_.is_open() && !co_await connect()) co_return outcome;
  outcome.sent = std::chrono::steady_clock::now();
  const bool is_sent = co_await send(request);
  const bool is_whole = is_sent && co_await read_reply(outcome, events);
  outcome.end = std::chrono::steady_clock::now();
  if (!is_whole) {
    outcome.status = 0;
    cut();
  }
  co_return outcome;
}

asio::awaitable<bool> Client::send(std::string_view request) {
  error_code error;
  while (!request.empty()) {
    request.remove_prefix(socket_.write_some(asio::buffer(request.data(), request.size()), error));
    if (error == asio::error::would_block)
      std::tie(error) = co_await socket_.async_wait(tcp::socket::wait_write, kNoThrow);
    if (error) co_return false;
  }
  co_return true;
}

asio::awaitable<bool> Client::read_reply(Outcome& outcome, Events* events) {
  ReplyParser parser(events);
  std::size_t held = 0;                // bytes that the parser has not taken yet
  while (!parser.is_done()) {
    auto [error] = co_await socket_.async_wait(tcp::socket::wait_read, kNoThrow);
    const auto room = asio::buffer(bytes_.data() + held, bytes_.size() - held);
    if (!error) held += socket_.read_some(room, error);
    if (error == asio::error::would_block) continue;
    if (error == asio::error::eof && parser.got_some()) {
      parser.put_eof(error);           // a body that ends with the connection is whole
      if (error || !parser.is_done()) co_return false;
      break;
    }
    if (error) co_return false;
    const auto now = std::chrono::steady_clock::now();
    if (outcome.first_byte == TimePoint{}) outcome.first_byte = now;
    parser.set_time(now);
    std::size_t taken = 0;
    while (taken < held && !parser.is_done()) {
      const auto step = parser.put(asio::buffer(bytes_.data() + taken, held - taken), error);
      taken += step;
      if (error == http::error::need_more || (!error && step == 0)) break;
      if (error) co_return false;
    }
    outcome.body_bytes = parser.body_bytes();
    held -= taken;
    std::memmove(bytes_.data(), bytes_.data() + taken, held);
    if (held == bytes_.size()) co_return false;
  }
  outcome.status = parser.status();
  if (!parser.keep_alive()) cut();
  co_return true;
}

void Client::cut() {
  error_code ignored;
  socket_.close(ignored);
}
}  // namespace corisco::bench
