// A bare Beast server, the measure of what HTTP itself costs: reads each request, writes a fixed reply
// of a given size, whole or streamed at a rate. Its replies are chat completions, so it also stands
// for the model server behind the proxies that are compared. One thread; loopback; ended by a signal.
//   bench_gateway_echo --port 8090 --reply-bytes 500 --frame-bytes 200 --tokens-per-second 50
#include <CLI/CLI.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include "chat_reply.h"
#include "ticker.h"

namespace {
namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using corisco::bench::ChatReplies;
using corisco::bench::Ticker;
constexpr auto kNoThrow = asio::as_tuple(asio::use_awaitable);
constexpr std::uint64_t kBodyBytesMax = 64U << 20;

struct Server {
  ChatReplies replies;
  Ticker ticker;
};

asio::awaitable<bool> reply_whole(tcp::socket& socket, const std::string& body) {
  http::response<http::span_body<const char>> reply(http::status::ok, 11);
  reply.set(http::field::content_type, "application/json");
  reply.body() = {body.data(), body.size()};
  reply.prepare_payload();
  auto [error, bytes] = co_await http::async_write(socket, reply, kNoThrow);
  co_return !error;
}

asio::awaitable<bool> reply_streamed(tcp::socket& socket, Server& server, unsigned tokens) {
  http::response<http::empty_body> reply(http::status::ok, 11);
  reply.set(http::field::content_type, "text/event-stream");
  reply.chunked(true);
  http::response_serializer<http::empty_body> serializer(reply);
  auto [head_error, head_bytes] = co_await http::async_write_header(socket, serializer, kNoThrow);
  if (head_error) co_return false;
  const bool is_whole = co_await server.ticker.write(socket, server.replies.frame(), tokens);
  if (!is_whole) co_return false;
  auto [error, bytes] = co_await asio::async_write(socket, asio::buffer(server.replies.ending()), kNoThrow);
  co_return !error;
}

asio::awaitable<void> serve(tcp::socket socket, Server& server) {
  socket.set_option(tcp::no_delay(true));
  boost::beast::flat_buffer buffer;
  bool goes_on = true;
  while (goes_on) {
    http::request_parser<http::string_body> parser;
    parser.body_limit(kBodyBytesMax);
    auto [error, bytes] = co_await http::async_read(socket, buffer, parser, kNoThrow);
    if (error) co_return;
    const std::string& body = parser.get().body();
    const auto wish = corisco::bench::wish_of(body);
    const unsigned tokens = wish.max_tokens > 0 ? wish.max_tokens : ChatReplies::tokens();
    if (wish.streamed) goes_on = co_await reply_streamed(socket, server, tokens);
    else goes_on = co_await reply_whole(socket, server.replies.whole(wish, body.size()));
  }
}

asio::awaitable<void> accept(tcp::acceptor acceptor, Server& server) {
  while (true) {
    auto [error, socket] = co_await acceptor.async_accept(kNoThrow);
    if (error) co_return;
    asio::co_spawn(socket.get_executor(), serve(std::move(socket), server), asio::detached);
  }
}
}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Answers every POST with a fixed chat completion.");
  std::uint16_t port = 0;
  std::size_t reply_bytes = 0, frame_bytes = 0;
  double tokens_per_second = 0;
  app.add_option("--port", port, "on 127.0.0.1")->required();
  app.add_option("--reply-bytes", reply_bytes, "of a whole reply's body");
  app.add_option("--frame-bytes", frame_bytes, "of a stream's event");
  app.add_option("--tokens-per-second", tokens_per_second, "of each stream; 0: all at once");
  CLI11_PARSE(app, argc, argv);
  asio::io_context io(1);
  Server server{ChatReplies(reply_bytes, frame_bytes), Ticker(io, tokens_per_second)};
  tcp::acceptor acceptor(io, {asio::ip::address_v4::loopback(), port});
  acceptor.listen(4096);
  asio::signal_set signals(io, SIGTERM, SIGINT);
  signals.async_wait([&io](boost::system::error_code, int) { io.stop(); });
  asio::co_spawn(io, accept(std::move(acceptor), server), asio::detached);
  io.run();
  return 0;
}
