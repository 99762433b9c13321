// Bytes off a socket, each case followed by one more request: what is accepted leaves the connection
// in step, what is refused is the last thing that is read. The head's own table is in
// http_head_test.cc, chunked bodies are in http_server_test.cc.
// Among them are the shapes of all 33 cases of h1spec, a public set for HTTP/1.1 servers: 15 heads cut off at each of
// their parts (waited for), 6 requests that are answered (an Expect without a body, names in any case, empty values,
// bodies by length and in chunks), and 12 that are refused (no version or a wrong one, words before the request line,
// no Host or two, lengths that are negative, no number or beside chunks, bytes that are in no name or value, a line end
// that is none).
#include <memory>

#include "gateway/server_fixture.h"

namespace corisco::gateway::fakes {
namespace {
using namespace std::string_literals;

struct HttpStrictTest : ServerTest {
  // The statuses of all replies, the following request's too, until the server closes.
  std::vector<int> statuses(const std::string& bytes) {
    RawClient client(port);
    client.send(bytes);
    client.send("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(client.is_closed_by_peer());
    std::vector<int> found;
    const auto& received = client.bytes();
    for (auto at = received.find("HTTP/1.1 "); at != std::string::npos; at = received.find("HTTP/1.1 ", at + 1))
      if (const int status = std::atoi(received.c_str() + at + 9); status > 0) found.push_back(status);   // else words
    return found;
  }
};

TEST_F(HttpStrictTest, WhatIsAcceptedKeepsTheConnectionInStep) {
  start();
  const std::string chunked = "POST /admin/resume HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string extended = chunked;
  for (int i = 0; i < 16; ++i) extended += "1;a=b\r\nx\r\n";
  const std::vector<std::pair<std::string, std::vector<int>>> cases = {
      {get("/healthz"), {200, 200}},
      {"GET /healthz HTTP/1.1\r\nhoSt:\texample.com\r\nempty:\r\n\r\n", {200, 200}},
      {"GET /healthz HTTP/1.1\r\nHost: x\r\nempty: \r\n\r\n", {200, 200}},
      {"GET /healthz HTTP/1.1\r\nHost:\r\n\r\n", {200, 200}},
      {"GET /healthz HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", {200, 200}},
      {"GET /healthz HTTP/1.1\r\nHost: x\r\nX: \xff\r\n\r\n", {200, 200}},
      {"GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n", {200, 200}},   // no body to ask for
      {"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", {200, 200}},
      {"POST /admin/resume HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", {200, 200}},
      {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", {404, 200}},
      {get("/1") + get("/healthz") + get("/1"), {404, 200, 404, 200}},
      {"\r\n" + get("/healthz"), {200, 200}},
      {"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
       "HTTP2-Settings: AA\r\n\r\n", {200, 200}},
      {chunked + "5\r\nhello\r\n0\r\n\r\n", {200, 200}},
      {chunked + "c\r\nhello, world\r\n0\r\n\r\n", {200, 200}},          // sizes are hexadecimal, in either case
      {chunked + "C\r\nhello, world\r\n0\r\n\r\n", {200, 200}},
      {extended + "0\r\n\r\n", {200, 200}},
  };
  for (const auto& [bytes, expected] : cases) EXPECT_EQ(statuses(bytes), expected) << bytes;
}

TEST_F(HttpStrictTest, WhatIsRefusedIsTheLastThingRead) {
  start();
  const std::string chunked = "POST /admin/resume HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string extended = chunked;
  for (int i = 0; i < 17; ++i) extended += "1;a=b\r\nx\r\n";
  std::string many = "GET / HTTP/1.1\r\nHost: x\r\n";
  for (int i = 0; i < 2000; ++i) many += cat("h", i, ": v\r\n");
  const std::vector<std::pair<std::string, std::vector<int>>> cases = {
      {"GET / \r\n\r\n", {400}},
      {"GET / HTTP/9.9\r\nHost: x\r\n\r\n", {505}},
      {"GET /healthz HTTP/1.1\r\nContent-Length: 5\r\n\r\n", {400}},     // no Host; its body is not waited for
      {"GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", {400}},
      {"GET /healthz HTTP/1.1\r\nHost: x\r\nNot[a]name: y\r\n\r\n", {400}},
      {"GET /healthz HTTP/1.1\r\nHost: x\r\nX: ring\x07\r\n\r\n", {400}},
      {"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: -1234\r\n\r\n", {400}},
      {"POST /admin/resume HTTP/1.1\r\nHost: x\r\ncONTENT-lENGTH: 5\r\ntRANSFER-eNCODING: chunked\r\n\r\n"
       "c\r\nhello, world\r\n0\r\n\r\n", {400}},
      {chunked + "0\r\nContent-Length: 9\r\n\r\n", {400}},                 // a trailer frames nothing
      {chunked + "0\r\nTransfer-Encoding: chunked\r\n\r\n", {400}},
      {"Extra lineGET / HTTP/1.1\r\nHost: x\r\n\r\n", {400}},
      {"GET / HTTP/1.1\r\nHost: x\r\n\rSome: y\r\n\r\n", {400}},
      {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -123456789123456789123456789\r\n\r\n", {400}},
      {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n", {400}},
      {"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", {400}},
      {"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: ,chunked\r\n\r\n", {400}},
      {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", {400}},
      {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", {400}},
      {"GET / HTTP/1.1\r\nHost: me@a\r\n\r\n", {400}},
      {"GET / HTTP/1.1\r\nHost: a\x80\r\n\r\n", {400}},
      {"GET /\x80 HTTP/1.1\r\nHost: x\r\n\r\n", {400}},
      {"CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n", {400}},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400}},
      {"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03"s + std::string(40, '\0'), {400}},   // a TLS greeting
      {"POST /admin/resume HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhelloXXXX / junk\r\n\r\n", {200, 400}},
      {extended + "0\r\n\r\n", {400}},
      {chunked + "5\r\nhello\r\n0\r\n" + "X: " + std::string(100000, 'a') + "\r\n\r\n", {400}},
      {chunked + "ffffffffffffffff\r\n", {413}},
      {chunked + "5\r\nhello\n0\r\n\r\n", {400}},
      {"GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(100000, 'a') + "\r\n\r\n", {431}},
      {"GET /" + std::string(70000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n", {414}},
      {many + "\r\n", {431}},
  };
  for (const auto& [bytes, expected] : cases) EXPECT_EQ(statuses(bytes), expected) << bytes.substr(0, 200);
}

TEST_F(HttpStrictTest, APartOfARequestIsWaitedFor) {
  start();
  const std::string bytes = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
  std::vector<std::unique_ptr<RawClient>> clients;
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    clients.push_back(std::make_unique<RawClient>(port));
    clients.back()->send(bytes.substr(0, size));
  }
  EXPECT_FALSE(clients.back()->receive(100));
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    auto& client = *clients[size - 1];
    EXPECT_FALSE(client.receive(0)) << size;
    client.send(bytes.substr(size));
    EXPECT_EQ(client.read_reply().status, 200) << size;
  }
}

TEST_F(HttpStrictTest, ATruncatedRequestIsNotAnswered) {
  start();
  const auto call = post("/v1/chat/completions", json_text(hi()));
  for (const auto size : {std::size_t{10}, call.size() - 20, call.size() - 1}) {
    RawClient client(port);
    client.send(call.substr(0, size));
    client.end_sending();
    EXPECT_TRUE(client.is_closed_by_peer());
    EXPECT_EQ(client.bytes(), "") << size;
  }
  EXPECT_TRUE(on_io([this] { return generator.requests.empty(); }));
}
}  // namespace
}  // namespace corisco::gateway::fakes
