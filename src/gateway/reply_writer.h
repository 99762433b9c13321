// Writes one reply: whole, or begun and then sent piece by piece in chunks. Io thread only.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/api_error.h"
#include "gateway/http_head.h"
#include "gateway/peer.h"

namespace corisco::gateway {
using HeaderList = std::vector<std::pair<std::string, std::string>>;

struct Reply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  HeaderList headers;
};
Reply error_reply(const ApiError& error, ErrorShape shape = ErrorShape::openai);

class ReplyWriter {
 public:
  // head: of the request that is answered; null if it could not be read.
  ReplyWriter(Peer& peer, const Head* head, std::string request_id);

  // Goes with whatever head is sent.
  void add_to_head(HeaderList headers) { added_headers_ = std::move(headers); }
  // Each returns false if the peer is gone; then nothing more reaches it.
  boost::asio::awaitable<bool> whole(Reply reply);
  boost::asio::awaitable<bool> begin(std::string content_type);
  boost::asio::awaitable<bool> begin_as(Reply head);   // its body is not sent
  boost::asio::awaitable<bool> piece(std::string bytes);
  boost::asio::awaitable<bool> end(std::string last_bytes);
  // The same where the server ends and nobody can wait: as far as the peer takes it at once. Not within another.
  void whole_at_once(const Reply& reply);
  void end_at_once(const std::string& last_bytes);

  bool has_begun() const { return has_begun_; }
  int status() const { return status_; }             // 0: nothing was sent
  bool keeps_alive() const { return keeps_alive_; }
  void close_after() { keeps_alive_ = false; }
  Peer& peer() { return peer_; }
  const std::string& request_id() const { return request_id_; }

 private:
  std::string head_text(int status, const std::string& content_type, const HeaderList& headers) const;
  std::string framed(std::string_view bytes) const;
  std::string text_of(const Reply& reply);
  std::string end_text(const std::string& last_bytes) const;

  Peer& peer_;
  std::string request_id_;
  HeaderList added_headers_;
  bool is_head_only_ = false;            // a HEAD request
  bool is_chunked_ = true;               // HTTP/1.0 ends a reply by closing
  bool keeps_alive_ = false;
  bool has_begun_ = false;
  int status_ = 0;
};
}  // namespace corisco::gateway
