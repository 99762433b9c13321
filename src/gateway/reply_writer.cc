#include "gateway/reply_writer.h"

#include <array>
#include <cstdio>

#include "corisco/base/strings.h"

namespace corisco::gateway {
namespace asio = boost::asio;

Reply error_reply(const ApiError& error, ErrorShape shape) {
  Reply reply;
  reply.status = status_in(shape, error);
  reply.body = to_json(error, shape);
  if (error.retry_after_seconds > 0)
    reply.headers.emplace_back("Retry-After", cat(error.retry_after_seconds));
  if (error.is_final) reply.headers.emplace_back("x-should-retry", "false");
  if (error.status == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  return reply;
}

ReplyWriter::ReplyWriter(Peer& peer, const Head* head, std::string request_id)
    : peer_(peer), request_id_(std::move(request_id)) {
  if (head == nullptr) return;
  is_head_only_ = head->method == "HEAD";
  is_chunked_ = head->is_version_1_1;
  keeps_alive_ = head->keeps_alive;
}

std::string ReplyWriter::head_text(int status, const std::string& content_type,
                                   const HeaderList& headers) const {
  std::string text = cat("HTTP/1.1 ", status, " ", status_reason(status), "\r\nServer: corisco\r\n");
  text += cat("x-request-id: ", request_id_, "\r\nrequest-id: ", request_id_, "\r\n");   // OpenAI's, Anthropic's
  if (!content_type.empty()) text += cat("Content-Type: ", content_type, "\r\n");
  for (const auto* list : {&headers, &added_headers_})
    for (const auto& [name, value] : *list) text += cat(name, ": ", value, "\r\n");
  text += keeps_alive_ ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
  return text;
}

std::string ReplyWriter::framed(std::string_view bytes) const {
  if (!is_chunked_ || bytes.empty()) return std::string(bytes);
  std::array<char, 24> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", bytes.size());
  return cat(size.data(), bytes, "\r\n");
}

std::string ReplyWriter::text_of(const Reply& reply) {
  status_ = reply.status;
  has_begun_ = true;
  auto text = head_text(reply.status, reply.content_type, reply.headers);
  constexpr int kNoContent = 204;        // has no length either
  if (reply.status != kNoContent) text += cat("Content-Length: ", reply.body.size(), "\r\n");
  text += "\r\n";
  if (!is_head_only_) text += reply.body;
  return text;
}

asio::awaitable<bool> ReplyWriter::whole(Reply reply) {
  auto text = text_of(reply);
  co_return co_await peer_.write(std::move(text));
}

void ReplyWriter::whole_at_once(const Reply& reply) {
  close_after();
  peer_.write_last(text_of(reply));
}

asio::awaitable<bool> ReplyWriter::begin(std::string content_type) {
  Reply head;
  head.content_type = std::move(content_type);
  head.headers = {{"Cache-Control", "no-cache"}};
  co_return co_await begin_as(std::move(head));
}

asio::awaitable<bool> ReplyWriter::begin_as(Reply head) {
  status_ = head.status;
  has_begun_ = true;
  if (!is_chunked_) keeps_alive_ = false;
  auto text = head_text(head.status, head.content_type, head.headers);
  text += is_chunked_ ? "Transfer-Encoding: chunked\r\n\r\n" : "\r\n";
  co_return co_await peer_.write(std::move(text));
}

asio::awaitable<bool> ReplyWriter::piece(std::string bytes) {
  if (bytes.empty()) co_return !peer_.is_gone();
  co_return co_await peer_.write(framed(bytes));
}

std::string ReplyWriter::end_text(const std::string& last_bytes) const {
  auto text = framed(last_bytes);
  if (is_chunked_) text += "0\r\n\r\n";
  return text;
}

asio::awaitable<bool> ReplyWriter::end(std::string last_bytes) {
  auto text = end_text(last_bytes);
  co_return co_await peer_.write(std::move(text));
}

void ReplyWriter::end_at_once(const std::string& last_bytes) { peer_.write_last(end_text(last_bytes)); }
}  // namespace corisco::gateway
