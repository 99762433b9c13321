#include "gateway/upstream_reply.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <limits>
#include <utility>

namespace corisco::gateway {
namespace http = boost::beast::http;
namespace {
constexpr std::uint32_t kHeadBytesMax = 65536;   // vendors send many headers
constexpr std::size_t kUnreadBytesMax = 2 * std::size_t{kHeadBytesMax};
}  // namespace

struct UpstreamReply::Parser {
  Parser() {
    reply.eager(true);
    reply.header_limit(kHeadBytesMax);
    reply.body_limit(std::numeric_limits<std::uint64_t>::max());   // passed on as it comes, never kept
  }
  bool is_interim() const { return reply.is_header_done() && reply.get().result_int() < 200; }

  http::response_parser<http::buffer_body> reply;
};

UpstreamReply::UpstreamReply() : parser_(std::make_unique<Parser>()) {}
UpstreamReply::~UpstreamReply() = default;

bool UpstreamReply::push(std::string_view bytes) {
  has_begun_ = has_begun_ || !bytes.empty();
  unread_ += bytes;
  std::array<char, 16384> piece;
  while (!unread_.empty() && !is_done()) {
    auto& reply = parser_->reply;
    reply.get().body() = {piece.data(), piece.size(), true};
    boost::system::error_code failed;
    const auto used = reply.put(boost::asio::buffer(unread_), failed);
    body_.append(piece.data(), piece.size() - reply.get().body().size);
    unread_.erase(0, used);
    if (parser_->is_interim()) parser_ = std::make_unique<Parser>();
    if (failed == http::error::need_buffer) continue;
    if (failed == http::error::need_more || (!failed && used == 0)) break;
    if (failed) return false;
  }
  return unread_.size() <= kUnreadBytesMax;
}

bool UpstreamReply::finish() {
  // Before the first byte the parser would take the end for that of a reply without a head.
  if (!parser_->reply.got_some()) return false;
  boost::system::error_code failed;
  if (!is_done()) parser_->reply.put_eof(failed);
  return !failed && is_done();
}

bool UpstreamReply::has_head() const { return parser_->reply.is_header_done(); }
int UpstreamReply::status() const { return static_cast<int>(parser_->reply.get().result_int()); }
std::string UpstreamReply::header(const char* name) const {
  const auto value = parser_->reply.get()[name];
  return {value.data(), value.size()};
}
std::string UpstreamReply::take_body() { return std::exchange(body_, {}); }
bool UpstreamReply::is_done() const { return parser_->reply.is_done(); }
bool UpstreamReply::keeps_alive() const { return is_done() && unread_.empty() && parser_->reply.keep_alive(); }
}  // namespace corisco::gateway
