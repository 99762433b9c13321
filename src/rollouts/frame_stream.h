// Frames over a non-blocking stream socket, for processes with one thread and a poll loop.
// Owned by the spawner's or a supervisor's only thread. Never blocks.
#pragma once
#include <deque>
#include <optional>
#include <string>

#include "rollouts/file_descriptor.h"
#include "rollouts/wire.h"

namespace corisco::rollouts {
class FrameStream {
 public:
  FrameStream() = default;
  explicit FrameStream(FileDescriptor socket);         // makes it non-blocking
  int fd() const { return socket_.get(); }
  bool is_open() const { return socket_.get() >= 0; }
  void close();

  // Reads what there is. False once the peer is gone; frames that came before can still be taken.
  bool read_available();
  std::optional<wire::Frame> take();

  // Queues a frame, with a descriptor that travels along with its first byte.
  void send(wire::Type type, std::string_view body, FileDescriptor passed = FileDescriptor());
  bool has_unsent() const { return !unsent_.empty(); }
  // Writes what the socket takes. False if the peer is gone.
  bool flush();

 private:
  struct Unsent {
    std::string bytes;
    std::size_t done = 0;
    FileDescriptor passed;
  };
  FileDescriptor socket_;
  std::string received_;
  std::deque<Unsent> unsent_;
};
}  // namespace corisco::rollouts
