#include "gateway/request_reader.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <utility>

#include "corisco/base/strings.h"

namespace corisco::gateway {
namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace {
constexpr std::size_t kExtensionBytesMax = 256;   // of one chunk
constexpr std::size_t kExtensionsMax = 16;        // of one message

TimePoint seconds_from_now(std::uint32_t seconds) {
  return real_clock().now() + std::chrono::seconds(seconds);
}

ApiError error_of(int status, std::string message, std::string code) {
  auto error = invalid_request(std::move(message), {}, std::move(code));
  error.status = status;
  return error;
}
ApiError too_large(std::uint64_t bytes_max) {
  return error_of(413, cat("the body is larger than ", bytes_max, " bytes"), "body_too_large");
}
ApiError too_slow(const char* part, std::uint32_t seconds) {
  return error_of(408, cat("the request's ", part, " did not arrive within ", seconds, " s"),
                  "request_timeout");
}

// Feeds bytes to Beast's parser as they come.
class BodyParser {
 public:
  // head_text has passed parse_head.
  BodyParser(const std::string& head_text, std::uint64_t bytes_max) : bytes_max_(bytes_max) {
    parser_.eager(true);
    parser_.header_limit(static_cast<std::uint32_t>(head_text.size() + 8192));   // the trailers too
    parser_.body_limit(bytes_max);
    parser_.on_chunk_header(on_chunk_);
    consume(head_text);
  }
  // Bytes used, of a part of the message.
  std::size_t consume(std::string_view bytes) {
    std::size_t used = 0;
    while (!error_ && !parser_.is_done() && used < bytes.size()) {
      boost::system::error_code failed;
      const auto step = parser_.put(asio::buffer(bytes.data() + used, bytes.size() - used), failed);
      used += step;
      if (failed == http::error::need_more) break;
      if (failed) error_ = failed == http::error::body_limit ? too_large(bytes_max_) : malformed();
    }
    return used;
  }
  bool is_done() const { return parser_.is_done(); }
  const std::optional<ApiError>& error() const { return error_; }
  std::string take() { return std::move(parser_.get().body()); }

 private:
  static ApiError malformed() { return error_of(400, "malformed message body", "bad_http"); }

  std::uint64_t bytes_max_;
  std::optional<ApiError> error_;
  std::size_t num_extensions_ = 0;
  http::request_parser<http::string_body> parser_;
  // Held by reference in the parser.
  std::function<void(std::uint64_t, boost::beast::string_view, boost::system::error_code&)> on_chunk_ =
      [this](std::uint64_t, boost::beast::string_view extensions, boost::system::error_code& failed) {
        if (!extensions.empty()) ++num_extensions_;
        if (extensions.size() > kExtensionBytesMax || num_extensions_ > kExtensionsMax)
          failed = http::error::bad_chunk_extension;
      };
};
}  // namespace

RequestReader::RequestReader(Inbox& inbox, const config::Gateway& options, std::uint32_t idle_seconds_max)
    : inbox_(inbox), options_(options), idle_seconds_max_(idle_seconds_max) {
  limits_.head_bytes_max = options.header_bytes_max;
}

asio::awaitable<RequestReader::HeadOutcome> RequestReader::read_head() {
  auto deadline = seconds_from_now(idle_seconds_max_);
  bool has_begun = false;
  for (;;) {
    if (!has_begun && !inbox_.bytes().empty()) {
      has_begun = true;
      deadline = seconds_from_now(options_.header_seconds_max);
    }
    const auto scan = scan_head(inbox_.bytes(), limits_);
    if (scan.error) co_return *scan.error;
    if (scan.size > 0) {
      inbox_.consume(scan.leading);
      head_text_ = inbox_.bytes().substr(0, scan.size);
      inbox_.consume(scan.size);
      auto parsed = parse_head(head_text_, limits_);
      if (auto* error = std::get_if<ApiError>(&parsed)) co_return std::move(*error);
      co_return std::move(std::get<Head>(parsed));
    }
    const auto wake = co_await inbox_.wait_for_more(deadline);
    if (wake == Inbox::Wake::gone) co_return EndOfRequests{};
    if (wake == Inbox::Wake::timeout && !has_begun) co_return EndOfRequests{};
    if (wake == Inbox::Wake::timeout) co_return too_slow("head", options_.header_seconds_max);
  }
}

asio::awaitable<RequestReader::BodyOutcome> RequestReader::read_body(
    const Head& head, std::uint64_t bytes_max, std::function<asio::awaitable<bool>()> send_continue) {
  if (!head.has_body()) co_return std::string();
  if (head.content_length.value_or(0) > bytes_max) co_return too_large(bytes_max);
  if (head.expects_continue && inbox_.bytes().empty()) {
    const bool is_sent = co_await send_continue();
    if (!is_sent) co_return EndOfRequests{};
  }
  BodyParser parser(head_text_, bytes_max);
  const auto deadline = seconds_from_now(options_.body_seconds_max);
  for (;;) {
    const auto used = parser.consume(inbox_.bytes());
    inbox_.consume(used);
    if (parser.error()) co_return *parser.error();
    if (parser.is_done()) co_return parser.take();
    // The parser wants a longer line than the buffer can hold.
    if (inbox_.is_full()) co_return error_of(400, "malformed message body", "bad_http");
    const auto wake = co_await inbox_.wait_for_more(deadline);
    if (wake == Inbox::Wake::gone) co_return EndOfRequests{};
    if (wake == Inbox::Wake::timeout) co_return too_slow("body", options_.body_seconds_max);
  }
}
}  // namespace corisco::gateway
