// Reads another server's reply as its bytes come: the head, then the body in pieces, whatever frames it.
// Owned by the call that waits for it; io thread.
#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace corisco::gateway {
class UpstreamReply {
 public:
  UpstreamReply();
  ~UpstreamReply();
  UpstreamReply(const UpstreamReply&) = delete;
  UpstreamReply& operator=(const UpstreamReply&) = delete;

  // Bytes as they were read. False: they are no HTTP reply.
  bool push(std::string_view bytes);
  // The server has closed. False: the reply is not whole.
  bool finish();

  bool has_begun() const { return has_begun_; }   // a byte came
  bool has_head() const;                 // of the final reply: interim ones are passed over
  int status() const;                    // from here on: after has_head()
  std::string header(const char* name) const;   // empty: it has none
  std::string take_body();               // what came since the last time
  bool is_done() const;
  // It is done, and its server waits for the next request on the same connection.
  bool keeps_alive() const;

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  std::string unread_, body_;
  bool has_begun_ = false;
};
}  // namespace corisco::gateway
