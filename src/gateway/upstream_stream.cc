#include "gateway/upstream_stream.h"

#include <sys/socket.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <utility>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"

namespace corisco::gateway {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {
constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);

asio::awaitable<error_code> connect(tcp::socket& socket, const HttpUrl& url) {
  tcp::resolver resolver(socket.get_executor());
  const auto port = cat(url.port);
  auto [unknown, addresses] = co_await resolver.async_resolve(url.host, port, kTuple);
  if (unknown) co_return unknown;
  auto [failed, endpoint] = co_await asio::async_connect(socket, addresses, kTuple);
  if (failed) co_return failed;
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  co_return error_code();
}

void close_socket(tcp::socket& socket) {
  error_code ignored;
  socket.close(ignored);
}

// A closed one's descriptor is none, and no other error means that nothing has come.
bool is_quiet(tcp::socket& socket) {
  char byte = 0;
  return ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

class PlainStream final : public UpstreamStream {
 public:
  explicit PlainStream(const asio::any_io_executor& executor) : socket_(executor) {}

  asio::awaitable<error_code> open(const HttpUrl& url) override { return connect(socket_, url); }
  asio::awaitable<error_code> write(const std::string& head, const std::string& body) override {
    const std::array<asio::const_buffer, 2> both = {asio::buffer(head), asio::buffer(body)};
    auto [failed, size] = co_await asio::async_write(socket_, both, kTuple);
    co_return failed;
  }
  asio::awaitable<error_code> read_some(asio::mutable_buffer into, std::size_t& size) override {
    auto [failed, num_read] = co_await socket_.async_read_some(into, kTuple);
    size = num_read;
    co_return failed;
  }
  bool is_quiet() override { return gateway::is_quiet(socket_); }
  void close() override { close_socket(socket_); }

 private:
  tcp::socket socket_;
};

class TlsStream final : public UpstreamStream {
 public:
  TlsStream(std::shared_ptr<asio::ssl::context> context, const asio::any_io_executor& executor)
      : context_(std::move(context)), stream_(executor, *context_) {}

  asio::awaitable<error_code> open(const HttpUrl& url) override {
    stream_.set_verify_mode(asio::ssl::verify_peer);
    stream_.set_verify_callback(asio::ssl::host_name_verification(url.host));
    error_code not_a_name;
    asio::ip::make_address(url.host, not_a_name);
    const bool is_name = not_a_name.failed();   // an address has no place in the handshake
    if (is_name && SSL_set_tlsext_host_name(stream_.native_handle(), url.host.c_str()) != 1)
      co_return error_code(asio::error::invalid_argument);
    const auto unconnected = co_await connect(stream_.next_layer(), url);
    if (unconnected) co_return unconnected;
    auto [failed] = co_await stream_.async_handshake(asio::ssl::stream_base::client, kTuple);
    co_return failed;
  }
  asio::awaitable<error_code> write(const std::string& head, const std::string& body) override {
    const std::array<asio::const_buffer, 2> both = {asio::buffer(head), asio::buffer(body)};
    auto [failed, size] = co_await asio::async_write(stream_, both, kTuple);
    co_return failed;
  }
  asio::awaitable<error_code> read_some(asio::mutable_buffer into, std::size_t& size) override {
    auto [failed, num_read] = co_await stream_.async_read_some(into, kTuple);
    size = num_read;
    co_return failed;
  }
  // A late session ticket breaks the quiet too, which costs a handshake and no more.
  bool is_quiet() override { return gateway::is_quiet(stream_.next_layer()); }
  // Without a goodbye: the server sees its reader gone as that of a plain connection.
  void close() override { close_socket(stream_.next_layer()); }

 private:
  std::shared_ptr<asio::ssl::context> context_;   // outlives the stream
  asio::ssl::stream<tcp::socket> stream_;
};
}  // namespace

struct UpstreamStreams::Trust {
  std::shared_ptr<asio::ssl::context> context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
};

UpstreamStreams::UpstreamStreams(bool needs_tls) {
  if (!needs_tls) return;
  trust_ = std::make_shared<Trust>();
  SSL_CTX_set_min_proto_version(trust_->context->native_handle(), TLS1_2_VERSION);
  error_code ignored;                    // without a store no certificate is trusted, and calls say so
  trust_->context->set_default_verify_paths(ignored);
}
UpstreamStreams::~UpstreamStreams() = default;

std::unique_ptr<UpstreamStream> UpstreamStreams::make(const HttpUrl& url,
                                                      const asio::any_io_executor& executor) const {
  if (!url.is_tls) return std::make_unique<PlainStream>(executor);
  CORISCO_ASSERT(trust_ != nullptr, "no URL was said to need TLS");
  return std::make_unique<TlsStream>(trust_->context, executor);
}
}  // namespace corisco::gateway
