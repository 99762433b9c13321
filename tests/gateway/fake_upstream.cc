#include "gateway/fake_upstream.h"

namespace corisco::gateway::fakes {
FakeUpstream::FakeUpstream(Answer answer, const std::string& certificate, const std::string& key)
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

FakeUpstream::~FakeUpstream() {
  {
    const std::lock_guard lock(mutex_);
    is_ended_ = true;
    if (open_ >= 0) ::shutdown(open_, SHUT_RDWR);   // one that waits for its next request
  }
  ::shutdown(listener_, SHUT_RDWR);
  thread_.join();
  ::close(listener_);
}

std::vector<std::string> FakeUpstream::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void FakeUpstream::serve() {
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

void FakeUpstream::note_open(int socket) {
  const std::lock_guard lock(mutex_);
  open_ = socket;
  if (is_ended_ && socket >= 0) ::shutdown(socket, SHUT_RDWR);
}

bool FakeUpstream::visit(int socket, SSL* session) {
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

bool FakeUpstream::is_whole(const std::string& request) {
  const auto end = request.find("\r\n\r\n");
  const auto length = request.find("Content-Length: ");
  if (end == std::string::npos || length == std::string::npos) return false;
  return request.size() >= end + 4 + static_cast<std::size_t>(std::atoi(request.c_str() + length + 16));
}
}  // namespace corisco::gateway::fakes
