#include "gateway/raw_client.h"

namespace corisco::gateway::fakes {
RawClient::RawClient(std::uint16_t port, int receive_bytes) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  if (receive_bytes > 0)
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  is_connected_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

void RawClient::close() {
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

void RawClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

bool RawClient::receive(int milliseconds) {
  pollfd ready{socket_, POLLIN, 0};
  if (::poll(&ready, 1, milliseconds) <= 0) return false;
  char chunk[4096];
  const auto size = ::recv(socket_, chunk, sizeof chunk, 0);
  if (size <= 0) {
    is_ended_ = true;
    return false;
  }
  bytes_.append(chunk, static_cast<std::size_t>(size));
  return true;
}

bool RawClient::wait_for(std::string_view text) {
  while (bytes_.find(text) == std::string::npos)
    if (!receive()) return false;
  return true;
}

bool RawClient::is_closed_by_peer() {
  while (!is_ended_ && receive()) {
  }
  return is_ended_;
}

RawReply RawClient::read_reply(bool is_head_request) {
  RawReply reply;
  if (!wait_for("\r\n\r\n")) return reply;
  const auto end = bytes_.find("\r\n\r\n") + 4;
  reply.head = bytes_.substr(0, end);
  bytes_.erase(0, end);
  reply.status = std::atoi(reply.head.c_str() + 9);
  if (is_head_request || reply.status == 100) return reply;
  if (reply.head.find("Transfer-Encoding: chunked") != std::string::npos)
    reply.is_whole = read_chunks(reply.body);
  else
    reply.is_whole = read_length(reply.head, reply.body);
  return reply;
}

bool RawClient::read_length(const std::string& head, std::string& body) {
  const auto at = head.find("Content-Length: ");
  if (at == std::string::npos) return false;
  const auto size = static_cast<std::size_t>(std::atoll(head.c_str() + at + 16));
  while (bytes_.size() < size)
    if (!receive()) return false;
  body = bytes_.substr(0, size);
  bytes_.erase(0, size);
  return true;
}

bool RawClient::read_chunks(std::string& body) {
  for (;;) {
    if (!wait_for("\r\n")) return false;
    const auto size = std::strtoul(bytes_.c_str(), nullptr, 16);
    const auto begin = bytes_.find("\r\n") + 2;
    while (bytes_.size() < begin + size + 2)
      if (!receive()) return false;
    body += bytes_.substr(begin, size);
    bytes_.erase(0, begin + size + 2);
    if (size == 0) return true;
  }
}
}  // namespace corisco::gateway::fakes
