#include "rollouts/frame_stream.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace corisco::rollouts {
namespace {
bool is_for_later(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

ssize_t send_some(int socket, const char* bytes, std::size_t count, int passed) {
  iovec piece{const_cast<char*>(bytes), count};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (passed >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &passed, sizeof(int));
  }
  return ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}
}  // namespace

FrameStream::FrameStream(FileDescriptor socket) : socket_(std::move(socket)) {
  ::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
}

void FrameStream::close() {
  socket_.reset();
  unsent_.clear();
}

bool FrameStream::read_available() {
  std::array<char, 65536> block{};
  for (;;) {
    const auto count = ::recv(socket_.get(), block.data(), block.size(), MSG_DONTWAIT);
    if (count > 0) {
      received_.append(block.data(), static_cast<std::size_t>(count));
    } else if (count == 0) {
      return false;
    } else if (errno != EINTR) {
      return is_for_later(errno);
    }
  }
}

std::optional<wire::Frame> FrameStream::take() {
  bool is_broken = false;
  auto frame = wire::take_frame(received_, is_broken);
  if (is_broken) close();
  return frame;
}

void FrameStream::send(wire::Type type, std::string_view body, FileDescriptor passed) {
  unsent_.push_back({wire::encode_frame(type, body), 0, std::move(passed)});
  flush();
}

bool FrameStream::flush() {
  while (!unsent_.empty()) {
    auto& next = unsent_.front();
    const auto count = send_some(socket_.get(), next.bytes.data() + next.done,
                                 next.bytes.size() - next.done, next.passed.get());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return is_for_later(errno);
    next.passed.reset();
    next.done += static_cast<std::size_t>(count);
    if (next.done == next.bytes.size()) unsent_.pop_front();
  }
  return true;
}
}  // namespace corisco::rollouts
