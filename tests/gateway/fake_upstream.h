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

  explicit FakeUpstream(Answer answer, const std::string& certificate = {}, const std::string& key = {});
  ~FakeUpstream();
  std::uint16_t port() const { return port_; }
  std::vector<std::string> requests() const;
  int num_connections() const { return num_connections_; }

 private:
  void serve();
  void note_open(int socket);
  // Whether the connection is kept.
  bool visit(int socket, SSL* session);
  static bool is_whole(const std::string& request);

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
