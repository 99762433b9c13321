#include "corisco/gateway/server.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <map>
#include <optional>
#include <utility>

#include "corisco/base/log.h"
#include "gateway/connection.h"
#include "gateway/listen_address.h"
#include "gateway/tls.h"

namespace corisco::gateway {
namespace asio = boost::asio;
using asio::ip::tcp;

struct Server::State : std::enable_shared_from_this<State> {
  explicit State(ServerParts given)
      : parts(std::move(given)),
        context(parts, static_cast<std::uint64_t>(parts.clock->unix_seconds() * 1e6)),
        router(context), acceptor(*parts.io), room(parts.io->get_executor()) {}
  ~State() { context.worker.join(); }

  Result<void> bind();
  bool has_place() const;                // that is not in the reserve
  asio::awaitable<void> accept_all();
  void take(tcp::socket socket);
  static asio::awaitable<void> serve(std::shared_ptr<State> state, std::shared_ptr<Connection> connection);

  ServerParts parts;
  CallContext context;
  Router router;
  std::optional<TlsServer> tls;
  tcp::acceptor acceptor;
  Signal room;                           // a connection ended, or the server stops
  std::uint64_t next_connection = 1;
  std::map<std::uint64_t, std::weak_ptr<Connection>> connections;
  std::uint32_t num_in_reserve = 0;      // of those
  std::string url;
  bool is_stopped = false;
};

Result<void> Server::State::bind() {
  const auto& listen = parts.config->gateway.listen;
  const auto& certificate = parts.config->gateway.tls_certificate;
  if (!certificate.empty()) {
    CORISCO_TRY(tls, TlsServer::load(certificate, parts.config->gateway.tls_private_key));
  }
  CORISCO_TRY(const auto endpoint, parse_listen_address(listen));
  boost::system::error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error)
    return Error{Code::unavailable, cat("cannot listen on ", listen, ": ", error.message(),
                                        "; set gateway.listen to a free address (port 0 takes any)")};
  url = url_of(acceptor.local_endpoint(), tls ? "https" : "http");
  return {};
}

bool Server::State::has_place() const {
  return connections.size() - num_in_reserve < parts.config->gateway.connections_max;
}

// Accepts until stopped; waits while connections_max are open and the reserve is full too.
asio::awaitable<void> Server::State::accept_all() {
  const auto self = shared_from_this();
  while (!is_stopped) {
    if (!has_place() && num_in_reserve >= kConnectionsReserve) {
      co_await room.wait_until(TimePoint::max());
      continue;
    }
    auto [error, socket] = co_await acceptor.async_accept(asio::as_tuple(asio::use_awaitable));
    if (is_stopped) co_return;
    if (error) {                         // out of file descriptors, most likely: not at full speed
      log::warn(cat("cannot accept a connection: ", error.message()));
      co_await room.wait_until(real_clock().now() + std::chrono::milliseconds(100));
      continue;
    }
    take(std::move(socket));
  }
}

asio::awaitable<void> Server::State::serve(std::shared_ptr<State> state,
                                           std::shared_ptr<Connection> connection) {
  (void)state;                           // kept alive
  co_await connection->serve();
}

void Server::State::take(tcp::socket socket) {
  const auto number = next_connection++;
  const bool is_in_reserve = !has_place();
  auto transport = tls ? tls->transport(std::move(socket)) : plain_transport(std::move(socket));
  auto connection = std::make_shared<Connection>(std::move(transport), context, router, is_in_reserve);
  connections.emplace(number, connection);
  if (is_in_reserve) ++num_in_reserve;
  context.metrics.connections.set(static_cast<double>(connections.size()));
  const auto on_end = [self = shared_from_this(), number, is_in_reserve](const std::exception_ptr& failed) {
    self->connections.erase(number);
    if (is_in_reserve) --self->num_in_reserve;
    self->context.metrics.connections.set(static_cast<double>(self->connections.size()));
    self->room.notify();
    if (failed) log::error("a connection ended by an exception");
  };
  asio::co_spawn(*parts.io, serve(shared_from_this(), std::move(connection)), on_end);
}

Server::Server(ServerParts parts) : state_(std::make_shared<State>(std::move(parts))) {}
Server::~Server() { stop(); }

Result<void> Server::start() {
  CORISCO_CHECK(state_->bind());
  asio::co_spawn(*state_->parts.io, state_->accept_all(), [](const std::exception_ptr& failed) {
    if (failed) log::error("accepting connections ended by an exception");
  });
  return {};
}

std::string Server::url() const { return state_->url; }

void Server::stop() {
  if (std::exchange(state_->is_stopped, true)) return;
  boost::system::error_code ignored;
  state_->acceptor.close(ignored);
  state_->router.stop();
  state_->room.notify();
  const auto stopping = from_error({Code::unavailable, "the daemon is stopping"});
  for (const auto& [number, tell] : state_->context.farewells) tell(stopping);
  const auto open = state_->connections;
  for (const auto& [number, weak] : open)
    if (const auto connection = weak.lock()) connection->cut();
}
}  // namespace corisco::gateway
