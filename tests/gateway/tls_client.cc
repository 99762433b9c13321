#include "gateway/tls_client.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <cstdio>

namespace corisco::gateway::fakes {
void write_certificate(const std::string& certificate_path, const std::string& key_path, const char* passphrase) {
  const std::unique_ptr<EVP_PKEY, OpenSslFreed> key(EVP_EC_gen("P-256"));
  const std::unique_ptr<X509, OpenSslFreed> certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  auto* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  auto* file = std::fopen(certificate_path.c_str(), "w");
  PEM_write_X509(file, certificate.get());
  std::fclose(file);
  file = std::fopen(key_path.c_str(), "w");
  const auto* cipher = passphrase != nullptr ? EVP_aes_128_cbc() : nullptr;
  PEM_write_PrivateKey(file, key.get(), cipher, nullptr, 0, nullptr, const_cast<char*>(passphrase));
  std::fclose(file);
}

TlsClient::TlsClient(std::uint16_t port, const std::string& certificate, const TlsOptions& options)
    : RawClient(port, options.receive_bytes), context_(SSL_CTX_new(TLS_client_method())) {
  SSL_CTX_load_verify_locations(context_.get(), certificate.c_str(), nullptr);
  SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_max_proto_version(context_.get(), options.version_max);
  SSL_CTX_clear_mode(context_.get(), SSL_MODE_AUTO_RETRY);   // a read of a session ticket alone returns
  session_.reset(SSL_new(context_.get()));
  SSL_set_alpn_protos(session_.get(), reinterpret_cast<const unsigned char*>(options.protocols.data()),
                      static_cast<unsigned>(options.protocols.size()));
  SSL_set_fd(session_.get(), descriptor());
  ERR_clear_error();
  is_open_ = SSL_connect(session_.get()) == 1;
}

std::string TlsClient::protocol() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(session_.get(), &name, &size);
  return std::string(reinterpret_cast<const char*>(name), size);
}

void TlsClient::send(std::string_view bytes) {
  ERR_clear_error();
  SSL_write(session_.get(), bytes.data(), static_cast<int>(bytes.size()));
}

bool TlsClient::receive(int milliseconds) {
  pollfd ready{descriptor(), POLLIN, 0};
  if (SSL_pending(session_.get()) == 0 && ::poll(&ready, 1, milliseconds) <= 0) return false;
  char chunk[4096];
  ERR_clear_error();
  const int size = SSL_read(session_.get(), chunk, sizeof chunk);
  if (size > 0) add({chunk, static_cast<std::size_t>(size)});
  if (size > 0 || SSL_get_error(session_.get(), size) == SSL_ERROR_WANT_READ) return true;
  set_ended();
  return false;
}
}  // namespace corisco::gateway::fakes
