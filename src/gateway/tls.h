// TLS for accepted sockets: 1.2 and newer, HTTP/1.1 by ALPN. OpenSSL is in tls.cc and nowhere else in
// the module. Owned by the server; io thread only.
#pragma once
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <string>

#include "corisco/base/result.h"
#include "gateway/transport.h"

namespace corisco::gateway {
class TlsServer {
 public:
  // PEM files, the certificate's with its chain. The error names the key of the config to change.
  static Result<TlsServer> load(const std::string& certificate_path, const std::string& private_key_path);
  // The transport may outlive this server.
  std::unique_ptr<Transport> transport(boost::asio::ip::tcp::socket socket) const;

 private:
  struct Keys;
  explicit TlsServer(std::shared_ptr<const Keys> keys) : keys_(std::move(keys)) {}
  friend class TlsTransport;
  std::shared_ptr<const Keys> keys_;
};
}  // namespace corisco::gateway
