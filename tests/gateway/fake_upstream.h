// Another model's server on loopback, for the gateway's tests: one connection at a time, plain or TLS. A function of
// the test answers each request byte by byte; its connection is closed then, unless the test keeps it for the next
// request. Its own thread.
#pragma once
#include <atomic>
#include <csignal>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "gateway/tls_client.h"

namespace corisco::gateway::fakes {
class FakeUpstream {
 public:
  // One request on an accepted connection.
  class Visit {
   public:
    Visit(int socket, SSL* session) : socket_(socket), session_(session) {}
    void send(std::string_view bytes) {
      if (session_ != nullptr) SSL_write(session_, bytes.data(), static_cast<int>(bytes.size()));
      else (void)::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    std::string receive() {
      char chunk[4096];
      const auto size = session_ != nullptr ? SSL_read(session_, chunk, sizeof chunk)
                                            : static_cast<int>(::recv(socket_, chunk, sizeof chunk, 0));
      return size > 0 ? std::string(chunk, static_cast<std::size_t>(size)) : std::string();
    }
    bool is_left_by_client() { return receive().empty(); }   // waits until it is
    void keep_open() { is_kept_ = true; }
    bool is_kept() const { return is_kept_; }

   private:
    int socket_;
    SSL* session_;
    bool is_kept_ = false;
  };
  using Answer = std::function<void(Visit&)>;

  explicit FakeUpstream(Answer answer, const std::string& certificate = {}, const std::string& key = {})
      : answer_(std::move(answer)), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(listener_, 8);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    if (!certificate.empty()) {
      ::signal(SIGPIPE, SIG_IGN);                       // OpenSSL writes to clients that have left
      context_.reset(SSL_CTX_new(TLS_server_method()));
      SSL_CTX_use_certificate_chain_file(context_.get(), certificate.c_str());
      SSL_CTX_use_PrivateKey_file(context_.get(), key.c_str(), SSL_FILETYPE_PEM);
    }
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeUpstream() {
    {
      const std::lock_guard lock(mutex_);
      is_ended_ = true;
      if (open_ >= 0) ::shutdown(open_, SHUT_RDWR);   // one that waits for its next request
    }
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  std::uint16_t port() const { return port_; }
  std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  int num_connections() const { return num_connections_; }

 private:
  void serve() {
    for (;;) {
      const int socket = ::accept(listener_, nullptr, nullptr);
      if (socket < 0) return;
      ++num_connections_;
      note_open(socket);
      std::unique_ptr<SSL, OpenSslFreed> session;
      if (context_) {
        session.reset(SSL_new(context_.get()));
        SSL_set_fd(session.get(), socket);
      }
      if (!session || SSL_accept(session.get()) == 1) {
        while (visit(socket, session.get())) {
        }
      }
      note_open(-1);
      ::close(socket);
    }
  }
  void note_open(int socket) {
    const std::lock_guard lock(mutex_);
    open_ = socket;
    if (is_ended_ && socket >= 0) ::shutdown(socket, SHUT_RDWR);
  }
  // Whether the connection is kept.
  bool visit(int socket, SSL* session) {
    Visit visit(socket, session);
    std::string request;
    while (!is_whole(request)) {
      const auto more = visit.receive();
      if (more.empty()) return false;
      request += more;
    }
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    answer_(visit);
    return visit.is_kept();
  }
  static bool is_whole(const std::string& request) {
    const auto end = request.find("\r\n\r\n");
    const auto length = request.find("Content-Length: ");
    if (end == std::string::npos || length == std::string::npos) return false;
    return request.size() >= end + 4 + static_cast<std::size_t>(std::atoi(request.c_str() + length + 16));
  }

  Answer answer_;
  int listener_;
  std::uint16_t port_ = 0;
  std::unique_ptr<SSL_CTX, OpenSslFreed> context_;
  std::atomic<int> num_connections_ = 0;
  mutable std::mutex mutex_;             // of what follows
  bool is_ended_ = false;
  int open_ = -1;                        // the accepted connection
  std::vector<std::string> requests_;
  std::thread thread_;
};
}  // namespace corisco::gateway::fakes
