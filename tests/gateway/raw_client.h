// A blocking HTTP client over a plain socket, for the gateway's tests: it can send anything.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "corisco/base/strings.h"

namespace corisco::gateway::fakes {
struct RawReply {
  int status = 0;                        // 0: the connection ended before a whole head
  std::string head, body;
  bool is_whole = false;                 // the body's end was seen
};

class RawClient {
 public:
  // receive_bytes: of the kernel's buffer; 0: as it likes.
  explicit RawClient(std::uint16_t port, int receive_bytes = 0);
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  virtual ~RawClient() { close(); }
  void close();
  bool is_connected() const { return is_connected_; }

  // That nothing more will come; replies are still read.
  void end_sending() { ::shutdown(socket_, SHUT_WR); }
  virtual void send(std::string_view bytes);
  // False at the end of the stream, or after the time.
  virtual bool receive(int milliseconds = 20000);
  // Until the bytes so far hold the text.
  bool wait_for(std::string_view text);
  bool is_closed_by_peer();
  const std::string& bytes() const { return bytes_; }

  RawReply read_reply(bool is_head_request = false);

 protected:
  int descriptor() const { return socket_; }
  void add(std::string_view received) { bytes_ += received; }
  void set_ended() { is_ended_ = true; }

 private:
  bool read_length(const std::string& head, std::string& body);
  bool read_chunks(std::string& body);

  int socket_;
  bool is_connected_ = false;
  bool is_ended_ = false;
  std::string bytes_;
};
}  // namespace corisco::gateway::fakes
