#include "gateway/tls.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/impl/src.hpp>   // compiled here
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"

namespace corisco::gateway {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {
struct Freed {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* session) const { SSL_free(session); }
  void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
};

constexpr std::string_view kSpeakHttps =
    "HTTP/1.1 400 Bad Request\r\nServer: corisco\r\nContent-Type: text/plain; charset=utf-8\r\n"
    "Connection: close\r\nContent-Length: 49\r\n\r\n"
    "This port speaks HTTPS: use https:// in the URL.\n";

// OpenSSL's own socket functions write without MSG_NOSIGNAL: a peer that left would end the process
// by SIGPIPE. A closed socket's descriptor is -1, which the kernel refuses.
int descriptor_of(BIO* bio) { return static_cast<tcp::socket*>(BIO_get_data(bio))->native_handle(); }
bool is_blocked() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

int send_through(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const auto sent = ::send(descriptor_of(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
  if (sent < 0 && is_blocked()) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int receive_through(BIO* bio, char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const auto received = ::recv(descriptor_of(bio), bytes, static_cast<std::size_t>(size), 0);
  if (received < 0 && is_blocked()) BIO_set_retry_read(bio);
  return static_cast<int>(received);
}

long control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

// ALPN's list of ours; a chosen name points into it.
constexpr std::array<unsigned char, 9> kProtocols = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                    unsigned offered_size, void*) {
  unsigned char* found = nullptr;
  const int result = SSL_select_next_proto(&found, size, kProtocols.data(), kProtocols.size(), offered, offered_size);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// Instead of asking for a passphrase on the terminal.
int no_passphrase(char*, int, int, void*) { return 0; }

Error unusable(const char* key, const std::string& path, const char* remedy) {
  const auto first = ERR_peek_error();     // the ones after it are in more general words
  const auto* reason = ERR_SYSTEM_ERROR(first) ? std::strerror(ERR_GET_REASON(first)) : ERR_reason_error_string(first);
  return {Code::invalid_argument, cat("gateway.", key, ": cannot use ", path, ": ",
                                      reason != nullptr ? reason : "unknown error", "; it must be ", remedy)};
}
}  // namespace

// What all connections share.
struct TlsServer::Keys {
  std::unique_ptr<SSL_CTX, Freed> context{SSL_CTX_new(TLS_server_method())};
  std::unique_ptr<BIO_METHOD, Freed> socket_method{BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket")};
};

Result<TlsServer> TlsServer::load(const std::string& certificate_path, const std::string& private_key_path) {
  auto keys = std::make_shared<Keys>();
  SSL_CTX* context = keys->context.get();
  BIO_METHOD* method = keys->socket_method.get();
  CORISCO_ASSERT(context != nullptr && method != nullptr, "OpenSSL has no memory");
  BIO_meth_set_write(method, send_through);
  BIO_meth_set_read(method, receive_through);
  BIO_meth_set_ctrl(method, control);
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // A part of a reply is offered again from where it was taken; an idle connection keeps no buffers.
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  SSL_CTX_set_default_passwd_cb(context, no_passphrase);
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context, certificate_path.c_str()) != 1)
    return unusable("tls_certificate", certificate_path,
                    "a readable PEM file with the certificate first, then its chain");
  if (SSL_CTX_use_PrivateKey_file(context, private_key_path.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1)
    return unusable("tls_private_key", private_key_path,
                    "the readable PEM key of gateway.tls_certificate, without a passphrase");
  return TlsServer(std::move(keys));
}

// OpenSSL works on the non-blocking socket itself, so reading and writing never wait for each other.
class TlsTransport final : public Transport {
 public:
  TlsTransport(std::shared_ptr<const TlsServer::Keys> keys, tcp::socket accepted)
      : Transport(std::move(accepted)), keys_(std::move(keys)), session_(SSL_new(keys_->context.get())) {
    BIO* bio = BIO_new(keys_->socket_method.get());
    CORISCO_ASSERT(session_ != nullptr && bio != nullptr, "OpenSSL has no memory");
    BIO_set_data(bio, &socket());
    BIO_set_init(bio, 1);
    SSL_set_bio(session_.get(), bio, bio);
    SSL_set_accept_state(session_.get());
  }

  asio::awaitable<error_code> open() override {
    for (;;) {
      ERR_clear_error();
      const auto step = step_of(SSL_do_handshake(session_.get()), 0);
      if (!step.error) co_return error_code();
      if (!step.awaited) {
        if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST) answer_plain_request();
        co_return step.error;
      }
      auto [failed] = co_await socket().async_wait(*step.awaited, asio::as_tuple(asio::use_awaitable));
      if (failed) co_return failed;
    }
  }

  void read_some(asio::mutable_buffer into, OnRead on_read) override {
    const auto step = read_now(into);
    if (step.awaited) return wait_to_read(*step.awaited, into, std::move(on_read));
    asio::post(socket().get_executor(), [step, on_read = std::move(on_read)] { on_read(step.error, step.size); });
  }

  std::size_t write_some(asio::const_buffer from, error_code& error) override {
    std::size_t size = 0;
    ERR_clear_error();
    const auto step = step_of(SSL_write_ex(session_.get(), from.data(), from.size(), &size), size);
    error = step.error;
    // Only a renegotiation would have to read first, and there is none.
    if (step.awaited == tcp::socket::wait_read) error = asio::error::connection_reset;
    return step.error ? 0 : size;
  }

  void end_writing() override {
    ERR_clear_error();
    if (!is_broken_) SSL_shutdown(session_.get());   // close_notify, if the socket takes it
    error_code ignored;
    socket().shutdown(tcp::socket::shutdown_send, ignored);
  }

 private:
  // One call of OpenSSL: it moved size bytes, or must be repeated after a wait, or failed for good.
  struct Step {
    error_code error;                    // would_block while awaited
    std::size_t size = 0;
    std::optional<tcp::socket::wait_type> awaited;
  };

  Step step_of(int result, std::size_t size) {
    switch (SSL_get_error(session_.get(), result)) {
      case SSL_ERROR_NONE: return {{}, size, {}};
      case SSL_ERROR_WANT_READ: return {asio::error::would_block, 0, tcp::socket::wait_read};
      case SSL_ERROR_WANT_WRITE: return {asio::error::would_block, 0, tcp::socket::wait_write};
      case SSL_ERROR_ZERO_RETURN: return {asio::error::eof, 0, {}};   // close_notify
      default: break;                    // a reset, an end without close_notify, bytes that are no TLS
    }
    is_broken_ = true;
    return {asio::error::connection_reset, 0, {}};
  }

  Step read_now(asio::mutable_buffer into) {
    std::size_t size = 0;
    ERR_clear_error();
    const int result = SSL_read_ex(session_.get(), into.data(), into.size(), &size);
    return step_of(result, size);
  }

  void wait_to_read(tcp::socket::wait_type awaited, asio::mutable_buffer into, OnRead on_read) {
    socket().async_wait(awaited, [this, into, on_read = std::move(on_read)](error_code failed) mutable {
      const auto step = failed ? Step{failed, 0, {}} : read_now(into);
      if (step.awaited) return wait_to_read(*step.awaited, into, std::move(on_read));
      on_read(step.error, step.size);
    });
  }

  // The request is read off first, as far as it is there, else closing would reset the connection
  // and the answer be lost.
  void answer_plain_request() {
    error_code ended;
    std::array<char, 16384> rest;
    for (int i = 0; i < 4 && !ended; ++i) socket().read_some(asio::buffer(rest), ended);
    socket().write_some(asio::buffer(kSpeakHttps), ended);
    socket().shutdown(tcp::socket::shutdown_send, ended);
  }

  std::shared_ptr<const TlsServer::Keys> keys_;   // outlives the session
  std::unique_ptr<SSL, Freed> session_;
  bool is_broken_ = false;
};

std::unique_ptr<Transport> TlsServer::transport(tcp::socket socket) const {
  return std::make_unique<TlsTransport>(keys_, std::move(socket));
}
}  // namespace corisco::gateway
