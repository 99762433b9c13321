// Host and Origin of browsers' requests, and CORS.
#include "gateway/browser_check.h"

#include "gateway/server_fixture.h"

namespace corisco::gateway::fakes {
namespace {
Head head_of(const std::string& lines) {
  auto head = parse_head(cat("GET / HTTP/1.0\r\n", lines, "\r\n"), {});
  EXPECT_TRUE(std::holds_alternative<Head>(head)) << lines;
  return std::get<Head>(std::move(head));
}

TEST(BrowserCheck, WhoIsABrowser) {
  for (const auto* lines : {
           "Origin: http://a\r\n", "Origin: null\r\n", "Sec-Fetch-Site: none\r\n", "Referer: http://a/\r\n",
           "Accept-Language: en\r\n", "Accept-Language:\r\n", "User-Agent: Mozilla/5.0 (X11)\r\n",
           "Sec-Fetch-Mode: cors\r\nSec-Fetch-Site: cross-site\r\n"})
    EXPECT_TRUE(is_from_browser(head_of(lines))) << lines;
  for (const auto* lines : {"", "User-Agent: OpenAI/Python 2.1\r\nAccept: application/json\r\n",
                            "Accept-Encoding: gzip\r\n", "User-Agent: curl/8.0\r\nAccept: */*\r\n",
                            "User-Agent: node\r\nAccept-Language: *\r\nSec-Fetch-Mode: cors\r\n"})   // Node's fetch
    EXPECT_FALSE(is_from_browser(head_of(lines))) << lines;
}

int host_status(const std::string& host, const std::string& more = "Accept-Language: en\r\n") {
  config::Gateway options;
  options.hosts = {"Corisco.example", "ported.example:8080"};
  const auto refusal = BrowserCheck(options, "gpu-box").refusal(head_of(cat("Host: ", host, "\r\n", more)));
  if (!refusal) return 200;
  EXPECT_NE(refusal->message.find("gateway.hosts"), std::string::npos);
  return refusal->status;
}

TEST(BrowserCheck, ABrowserComesByAKnownHost) {
  for (const auto* good : {
           "localhost", "localhost:8080", "LOCALHOST.:8080", "app.localhost:8080", "127.0.0.1:8080", "10.1.2.3",
           "[::1]:8080", "[::1]", "gpu-box:8080", "corisco.example", "CORISCO.example:9", "ported.example:8080", ""})
    EXPECT_EQ(host_status(good), 200) << good;
  for (const auto* bad : {"evil.example:8080", "localhost.evil.example", "evillocalhost", "127.0.0.1.evil.example",
                          "gpu-box.evil.example", "ported.example:81", "ported.example", "1.2.3.4.5",
                          "[::1].evil.example"})
    EXPECT_EQ(host_status(bad), 421) << bad;
  EXPECT_EQ(host_status("host.docker.internal:8080", "User-Agent: python-httpx/0.28\r\n"), 200);
}

TEST(BrowserCheck, ARepointedNameIsItsOwnOriginButNotOurHost) {
  EXPECT_EQ(host_status("evil.example:8080", "Origin: http://evil.example:8080\r\n"), 421);
}

struct BrowserServerTest : ServerTest {
  BrowserServerTest() { config.gateway.cors_origins = {"https://Board.example", "http://localhost:3000"}; }
  static std::string from(const std::string& origin, const std::string& request) {
    const auto line_end = request.find("Host: x\r\n");
    return request.substr(0, line_end) + "Host: 127.0.0.1:80\r\nOrigin: " + origin + "\r\n" +
           request.substr(line_end + 9);
  }
};

TEST_F(BrowserServerTest, ForeignPagesAreRefusedOnEveryRoute) {
  start();
  for (const auto* origin : {"https://evil.example", "http://127.0.0.1:81", "null", "https://board.example.evil",
                             "127.0.0.1:80"}) {
    for (const auto& request : {
             get("/"), get("/metrics"), get("/admin/state"), get("/nowhere"), post("/admin/pause", ""),
             post("/v1/chat/completions", json_text(hi())), post("/v1/messages", "{}")}) {
      const auto reply = ask(from(origin, request));
      EXPECT_EQ(reply.status, 403) << origin << " " << request;
      EXPECT_EQ(reply.head.find("Access-Control"), std::string::npos);
      EXPECT_EQ(reply.body.find("evil"), std::string::npos);
    }
  }
  EXPECT_FALSE(on_io([this] { return is_paused; }));
  EXPECT_TRUE(on_io([this] { return generator.requests.empty(); }));
  EXPECT_NE(ask(from("null", get("/"))).body.find("gateway.cors_origins"), std::string::npos);
}

TEST_F(BrowserServerTest, OwnPagesNeedNoCors) {
  start();
  const auto reply = ask(from("http://127.0.0.1:80", post("/admin/pause", "")));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.head.find("Access-Control"), std::string::npos);
  EXPECT_TRUE(on_io([this] { return is_paused; }));
}

TEST_F(BrowserServerTest, AnUnknownHostNameIsRefused) {
  start();
  const auto reply = ask("GET /metrics HTTP/1.1\r\nHost: evil.example\r\nAccept-Language: en\r\n\r\n");
  EXPECT_EQ(reply.status, 421);
  EXPECT_EQ(parse_json(reply.body)["error"]["code"], "host_not_allowed");
  EXPECT_EQ(ask("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n").status, 200);
}

TEST_F(BrowserServerTest, ListedPagesMayReadEveryReply) {
  config.gateway.static_key = "s3cret";
  start();
  const auto allowed = [](const RawReply& reply) {
    return reply.head.find("Access-Control-Allow-Origin: https://board.example\r\n") != std::string::npos &&
           reply.head.find("Vary: Origin\r\n") != std::string::npos;
  };
  const auto chat_from = [&](const nlohmann::json& body, const std::string& key) {
    return ask(from("https://board.example", post("/v1/chat/completions", json_text(body), key)));
  };
  const auto streamed = chat_from(hi({{"stream", true}}), "s3cret");
  EXPECT_EQ(events(streamed.body).back(), "[DONE]");
  EXPECT_TRUE(allowed(streamed));
  EXPECT_TRUE(allowed(chat_from(hi(), "s3cret")));
  const auto unauthorized = chat_from(hi(), "wrong");
  EXPECT_EQ(unauthorized.status, 401);
  EXPECT_TRUE(allowed(unauthorized));
  const auto malformed = ask(from("https://board.example", "POST /admin/pause HTTP/1.1\r\nHost: x\r\n"
                                                           "Transfer-Encoding: chunked\r\n\r\nzz\r\n"));
  EXPECT_EQ(malformed.status, 400);
  EXPECT_TRUE(allowed(malformed));
}

TEST_F(BrowserServerTest, PreflightNeedsNoKey) {
  config.gateway.static_key = "s3cret";
  start();
  const std::string asks =
      "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization,x-a\r\n\r\n";
  const std::string options = "OPTIONS /v1/chat/completions HTTP/1.1\r\nHost: x\r\n";
  const auto reply = ask(from("http://localhost:3000", options + asks));
  EXPECT_EQ(reply.status, 200);
  for (const auto* line : {
           "Access-Control-Allow-Origin: http://localhost:3000\r\n", "Access-Control-Allow-Methods: POST\r\n",
           "Access-Control-Allow-Headers: authorization,x-a\r\n"})
    EXPECT_NE(reply.head.find(line), std::string::npos) << line;
  EXPECT_EQ(ask(from("https://evil.example", options + asks)).status, 403);
  EXPECT_EQ(ask(from("http://localhost:3000", options + "\r\n")).status, 405);
  EXPECT_EQ(ask(options + asks).status, 405);
}
}  // namespace
}  // namespace corisco::gateway::fakes
