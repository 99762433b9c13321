// The strict head check, case by case: what RFC 9112 refuses must never reach the body's parser.
#include "gateway/http_head.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace corisco::gateway {
namespace {
using namespace std::string_literals;

// The status that the head gets; 200: accepted; 0: not whole yet.
int verdict(const std::string& bytes) {
  const HeadLimits limits;
  const auto scan = scan_head(bytes, limits);
  if (scan.error) return scan.error->status;
  if (scan.size == 0) return 0;
  const auto head = parse_head(std::string_view(bytes).substr(scan.leading, scan.size), limits);
  const auto* error = std::get_if<ApiError>(&head);
  return error ? error->status : 200;
}
Head accepted(const std::string& bytes) {
  auto head = parse_head(bytes, {});
  EXPECT_TRUE(std::holds_alternative<Head>(head));
  return std::get<Head>(head);
}

TEST(HttpHead, FramingIsUnambiguousOrRefused) {
  const std::string start = "POST / HTTP/1.1\r\nHost: a\r\n";
  const std::vector<std::pair<std::string, int>> cases = {
      {"Content-Length: 5\r\n", 200},
      {"Content-Length: -1\r\n", 400},
      {"Content-Length: +5\r\n", 400},
      {"Content-Length: 0x5\r\n", 400},
      {"Content-Length: \r\n", 400},
      {"Content-Length: 5, 5\r\n", 400},
      {"Content-Length: 5\r\nContent-Length: 5\r\n", 400},
      {"Content-Length: 18446744073709551621\r\n", 400},
      {"Content-Length: 1 0\r\n", 400},
      {"Content-Length : 5\r\n", 400},
      {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400},
      {"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400},
      {"Transfer-Encoding: chunked\r\n", 200},
      {"Transfer-Encoding: Chunked\r\n", 200},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
      {"Transfer-Encoding: identity\r\nContent-Length: 5\r\n", 400},
      {"Transfer-Encoding: blegh\r\n", 400},
      {"Transfer-Encoding: xchunked\r\n", 400},
      {"Transfer-Encoding: chunked, gzip\r\n", 400},
      {"Transfer-Encoding: gzip, chunked\r\n", 400},
      {"Transfer-Encoding: \x0b" "chunked\r\n", 400},
      {"Transfer-Encoding:\r\n chunked\r\n", 400},
      {"Expect: 100-continue\r\n", 200},
      {"Expect: foo\r\n", 417},
  };
  for (const auto& [lines, status] : cases) EXPECT_EQ(verdict(start + lines + "\r\n"), status) << lines;
  EXPECT_EQ(verdict("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

TEST(HttpHead, RequestLinesAndFields) {
  const std::string host = "Host: a\r\n\r\n";
  const std::vector<std::pair<std::string, int>> cases = {
      {"GET / HTTP/1.1\r\n" + host, 200},
      {"GET / HTTP/1.0\r\n\r\n", 200},
      {"GET / HTTP/1.1\r\n\r\n", 400},                       // no Host
      {"GET / HTTP/1.1\r\nHost: b\r\n" + host, 400},         // two
      {"OPTIONS * HTTP/1.1\r\n" + host, 200},
      {"GET * HTTP/1.1\r\n" + host, 400},
      {"GET http://h:1/v1/models HTTP/1.1\r\n" + host, 200},
      {"GET http://[::1]:80?q HTTP/1.1\r\n" + host, 200},
      {"GET http:///v1/models HTTP/1.1\r\n" + host, 400},     // RFC 9110 section 4.2.1
      {"GET http://u@h/ HTTP/1.1\r\n" + host, 400},
      {"GET http://h/ HTTP/1.1\r\n\r\n", 400},
      {"\r\nGET / HTTP/1.1\r\n" + host, 200},                // RFC 9112 section 2.2
      {"\r\n\r\n\r\nGET / HTTP/1.1\r\n" + host, 400},
      {"GET / HTTP/9.9\r\n" + host, 505},
      {"GET / HTTP/1.32\r\n" + host, 400},
      {"GET / http/1.1\r\n" + host, 400},
      {"GET /\r\n\r\n", 400},
      {"GET  / HTTP/1.1\r\n" + host, 400},
      {"GET\t/\tHTTP/1.1\r\n" + host, 400},
      {"GET /a b HTTP/1.1\r\n" + host, 400},
      {"G=\":<>(e) / HTTP/1.1\r\n" + host, 400},
      {"GET / HTTP/1.1\nHost: a\n\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nX: a\r\n b\r\n" + host, 400},
      {"GET / HTTP/1.1\r\n X: y\r\n" + host, 400},
      {"GET / HTTP/1.1\r\nX: a\0b\r\n"s + host, 400},
      {"GET / HTTP/1.1\r\nX: a\rb\r\n" + host, 400},
      {"GET / HTTP/1.1\r\nX: t\x07\r\n" + host, 400},
      {"GET / HTTP/1.1\r\nX: \xff\r\n" + host, 200},
      {"GET / HTTP/1.1\r\nfoo\r\n" + host, 400},
      {"GET / HTTP/1.1\r\n: x\r\n" + host, 400},
      {"GET / HTTP/1.1\r\nX[]: t\r\n" + host, 400},
      {"GET / HTTP/1.1\r\n\xef" "foo: t\r\n" + host, 400},
      {"GET / HTTP/1.1\r\nHost: a", 0},
  };
  for (const auto& [bytes, status] : cases) EXPECT_EQ(verdict(bytes), status) << bytes;
}

TEST(HttpHead, SizesAreBounded) {
  const std::string start = "GET / HTTP/1.1\r\nHost: a\r\n";
  EXPECT_EQ(verdict(start + "X: " + std::string(7000, 'a') + "\r\n\r\n"), 200);
  EXPECT_EQ(verdict(start + "X: " + std::string(100000, 'a')), 431);
  EXPECT_EQ(verdict("GET /" + std::string(70000, 'a')), 414);
  EXPECT_EQ(verdict("GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n"), 414);
  std::string many = start;
  for (int i = 0; i < 200; ++i) many += "h: v\r\n";
  EXPECT_EQ(verdict(many + "\r\n"), 431);
}

TEST(HttpHead, WhatItSays) {
  const auto head = accepted(
      "POST http://h/p?q=1 HTTP/1.1\r\nHOST: a\r\nX-Key: \t v \r\nContent-Length: 12\r\n\r\n");
  EXPECT_EQ(head.target, "/p?q=1");
  EXPECT_EQ(*head.field("host"), "h") << "RFC 9112 section 3.2.2";
  EXPECT_EQ(accepted("GET https://[::1]:80?q HTTP/1.1\r\nHost: a\r\n\r\n").target, "/?q");
  EXPECT_EQ(*head.field("x-key"), "v");
  EXPECT_EQ(head.content_length, 12U);
  EXPECT_TRUE(head.keeps_alive);
  EXPECT_FALSE(accepted("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n").keeps_alive);
  EXPECT_FALSE(accepted("GET / HTTP/1.0\r\n\r\n").keeps_alive);
  EXPECT_TRUE(accepted("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").keeps_alive);
  EXPECT_EQ(accepted("GET http://h HTTP/1.1\r\nHost: h\r\n\r\n").target, "/");
}

// A head that arrives byte by byte is judged as if it came at once.
TEST(HttpHead, EverySplitGivesTheSame) {
  const std::string bytes = "\r\nGET /a HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\nNEXT";
  for (std::size_t size = 0; size < bytes.size() - 4; ++size)
    EXPECT_EQ(verdict(bytes.substr(0, size)), 0) << size;
  const auto scan = scan_head(bytes, {});
  EXPECT_EQ(scan.leading, 2U);
  EXPECT_EQ(bytes.substr(scan.leading + scan.size), "NEXT");
}
}  // namespace
}  // namespace corisco::gateway
