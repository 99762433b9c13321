// A blocking HTTPS client for the gateway's tests, and certificates made on the spot.
#pragma once
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>

#include "gateway/raw_client.h"

namespace corisco::gateway::fakes {
struct OpenSslFreed {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* session) const { SSL_free(session); }
};

// A self-signed certificate and its key as PEM files, valid for an hour.
void write_certificate(const std::string& certificate_path, const std::string& key_path,
                       const char* passphrase = nullptr);

struct TlsOptions {
  int version_max = TLS1_3_VERSION;
  std::string protocols = std::string("\x02h2\x08http/1.1");   // offered by ALPN, in its format
  int receive_bytes = 0;
};

class TlsClient final : public RawClient {
 public:
  // Trusts the given certificate alone.
  TlsClient(std::uint16_t port, const std::string& certificate, const TlsOptions& options = {});
  bool is_open() const { return is_open_; }
  std::string version() const { return SSL_get_version(session_.get()); }
  std::string protocol() const;
  // Only close_notify; the connection below stays.
  void send_close_notify() { SSL_shutdown(session_.get()); }
  bool got_close_notify() const { return (SSL_get_shutdown(session_.get()) & SSL_RECEIVED_SHUTDOWN) != 0; }

  void send(std::string_view bytes) override;
  bool receive(int milliseconds = 20000) override;

 private:
  std::unique_ptr<SSL_CTX, OpenSslFreed> context_;
  std::unique_ptr<SSL, OpenSslFreed> session_;
  bool is_open_ = false;
};
}  // namespace corisco::gateway::fakes
