// Names that another server replies to: bytes there, bytes back, and nothing of the client's keys.
#include <future>

#include "gateway/upstream_fixture.h"
#include "support/temporary_folder.h"

namespace corisco::gateway::fakes {
namespace {
using nlohmann::json;

TEST_F(UpstreamTest, TheBodyGoesThereByteForByteAndTheReplyComesBack) {
  FakeUpstream upstream([](auto& visit) { visit.send(whole_reply(R"({"answer": 42})")); });
  pass_on_to(upstream.port());
  const auto key = open_attempt(1);
  const auto body = body_for("judge");
  const auto reply = ask(cat("POST /v1/chat/completions?beta=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ", key,
                             "\r\nx-api-key: mine\r\nCookie: c=d\r\nConnection: X-Hop\r\nX-Hop: 1\r\nX-Kept: yes\r\n",
                             "Content-Length: ", body.size(), "\r\n\r\n", body));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, R"({"answer": 42})");
  EXPECT_TRUE(reply.is_whole);
  EXPECT_NE(reply.head.find("Content-Type: application/json\r\n"), std::string::npos);
  EXPECT_NE(reply.head.find("Retry-After: 7\r\n"), std::string::npos);
  EXPECT_EQ(reply.head.find("Set-Cookie"), std::string::npos);
  ASSERT_EQ(upstream.requests().size(), 1U);
  const auto sent = upstream.requests()[0];
  EXPECT_EQ(sent.find("POST /api/v1/chat/completions?beta=true HTTP/1.1\r\n"), 0U);
  EXPECT_EQ(sent.substr(sent.find("\r\n\r\n") + 4), body);
  EXPECT_NE(sent.find("Authorization: Bearer sk-theirs\r\n"), std::string::npos);
  EXPECT_NE(sent.find("x-kept: yes\r\n"), std::string::npos);
  for (const std::string& left_out : {key, std::string("mine"), std::string("c=d"), std::string("x-hop"),
                                      std::string("Host: x\r\n")})
    EXPECT_EQ(sent.find(left_out), std::string::npos) << left_out;
  EXPECT_TRUE(eventually([this] { return count("200") == 1; }));
  EXPECT_TRUE(on_io([this] { return sink.calls.empty() && generator.requests.empty(); }));
}

TEST_F(UpstreamTest, AnthropicsPathsHaveItsKeyHeader) {
  FakeUpstream upstream([](auto& visit) { visit.send(whole_reply("{}")); });
  pass_on_to(upstream.port());
  for (const char* path : {"/messages", "/messages/count_tokens", "/responses", "/completions"})
    EXPECT_EQ(ask(post(cat("/v1", path), body_for("judge"))).status, 200) << path;
  const auto sent = upstream.requests();
  ASSERT_EQ(sent.size(), 4U);
  EXPECT_EQ(sent[0].find("POST /api/v1/messages HTTP"), 0U);
  EXPECT_NE(sent[0].find("x-api-key: sk-theirs\r\n"), std::string::npos);
  EXPECT_EQ(sent[0].find("Authorization"), std::string::npos);
  EXPECT_NE(sent[0].find("anthropic-version: "), std::string::npos);
  EXPECT_EQ(sent[1].find("POST /api/v1/messages/count_tokens HTTP"), 0U);
  EXPECT_NE(sent[2].find("Authorization: Bearer sk-theirs\r\n"), std::string::npos);
}

TEST_F(UpstreamTest, OtherNamesAreServedHere) {
  FakeUpstream upstream([](auto& visit) { visit.send(whole_reply("{}")); });
  pass_on_to(upstream.port());
  EXPECT_EQ(parse_json(ask(post("/v1/chat/completions", body_for("any"))).body)["choices"][0]["message"]["content"],
            "hello");
  EXPECT_TRUE(upstream.requests().empty());
}

TEST_F(UpstreamTest, AStreamComesAsItIsMade) {
  std::promise<void> first_seen;
  FakeUpstream upstream([&](auto& visit) {
    visit.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
               "Transfer-Encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n");
    first_seen.get_future().wait();      // it would not come if the gateway waited for the rest
    visit.send("9\r\ndata: 2\n\n\r\n0\r\n\r\n");
  });
  pass_on_to(upstream.port());
  RawClient client(port);
  client.send(post("/v1/chat/completions", body_for("judge")));
  EXPECT_TRUE(client.wait_for("data: 1"));
  first_seen.set_value();
  const auto reply = client.read_reply();
  EXPECT_TRUE(reply.is_whole);
  EXPECT_EQ(reply.body, "data: 1\n\ndata: 2\n\n");
  EXPECT_NE(reply.head.find("Content-Type: text/event-stream\r\n"), std::string::npos);
}

TEST_F(UpstreamTest, ItsErrorsComeThrough) {
  FakeUpstream upstream([](auto& visit) { visit.send(whole_reply(R"({"error":"slow down"})", "429 Too Many")); });
  pass_on_to(upstream.port());
  const auto reply = ask(post("/v1/messages", body_for("judge")));
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(reply.body, R"({"error":"slow down"})");
  EXPECT_TRUE(eventually([this] { return count("429") == 1; }));
}

TEST_F(UpstreamTest, AServerThatIsNotThereIs502InTheFormatsShape) {
  std::uint16_t free_port = 0;
  { free_port = FakeUpstream([](auto&) {}).port(); }
  pass_on_to(free_port);
  auto reply = ask(post("/v1/chat/completions", body_for("judge")));
  EXPECT_EQ(reply.status, 502);
  EXPECT_EQ(parse_json(reply.body)["error"]["code"], "upstream_unreachable");
  EXPECT_EQ(reply.body.find(cat(free_port)), std::string::npos) << "where the server is stays in the log";
  reply = ask(post("/v1/messages", body_for("judge")));
  EXPECT_EQ(reply.status, 502);
  EXPECT_EQ(parse_json(reply.body)["type"], "error");
  EXPECT_DOUBLE_EQ(count("upstream_unreachable"), 2);
}

TEST_F(UpstreamTest, AReplyThatBreaksOffIsNotEndedAsIfItWereWhole) {
  FakeUpstream upstream([](auto& visit) { visit.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"); });
  pass_on_to(upstream.port());
  RawClient client(port);
  client.send(post("/v1/chat/completions", body_for("judge")));
  const auto reply = client.read_reply();
  EXPECT_EQ(reply.body, "half");
  EXPECT_FALSE(reply.is_whole);
  EXPECT_TRUE(client.is_closed_by_peer());
  EXPECT_DOUBLE_EQ(count("upstream_broken"), 1);
}

TEST_F(UpstreamTest, NoHttpIs502) {
  FakeUpstream upstream([](auto& visit) { visit.send("hello there\r\n\r\n"); });
  pass_on_to(upstream.port());
  EXPECT_EQ(ask(post("/v1/chat/completions", body_for("judge"))).status, 502);
}

TEST_F(UpstreamTest, AClientThatLeavesEndsTheRequestThere) {
  std::promise<bool> left;
  FakeUpstream upstream([&](auto& visit) { left.set_value(visit.is_left_by_client()); });
  pass_on_to(upstream.port());
  {
    RawClient client(port);
    client.send(post("/v1/chat/completions", body_for("judge")));
    ASSERT_TRUE(eventually([&] { return upstream.requests().size() == 1; }));
  }
  auto answer = left.get_future();
  ASSERT_EQ(answer.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_TRUE(answer.get());
  EXPECT_TRUE(eventually([this] { return count("client_gone") == 1; }));
}

TEST_F(UpstreamTest, TheAttemptsCapCountsIt) {
  config.gateway.calls_per_attempt_max = 1;
  FakeUpstream upstream([](auto& visit) { visit.send(whole_reply("{}")); });
  pass_on_to(upstream.port());
  const auto key = open_attempt(1);
  EXPECT_EQ(ask(post("/v1/chat/completions", body_for("judge"), key)).body, "{}");
  const auto last = parse_json(ask(post("/v1/chat/completions", body_for("judge"), key)).body);
  EXPECT_EQ(last["choices"][0]["message"]["content"], "The rollout's call limit is reached; stop here.");
  EXPECT_EQ(upstream.requests().size(), 1U);
  EXPECT_TRUE(on_io([this] { return attempts.summary({RolloutId{1}, 1}).hit_call_cap; }));
}

TEST_F(UpstreamTest, TokenRoutesAreNotPassedOn) {
  FakeUpstream upstream([](auto& visit) { visit.send(whole_reply("{}")); });
  pass_on_to(upstream.port());
  const auto reply = ask(post("/inference/v1/generate", R"({"model":"judge","token_ids":[1],"sampling_params":{}})"));
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(parse_json(reply.body)["error"]["code"], "model_not_found");
  EXPECT_TRUE(upstream.requests().empty());
}

// The trust store is the system's; OpenSSL reads it from where the environment says, if it says so.
struct TlsUpstreamTest : UpstreamTest {
  TlsUpstreamTest() {
    write_certificate(certificate, key);
    ::setenv("SSL_CERT_FILE", certificate.c_str(), 1);
  }
  ~TlsUpstreamTest() override { ::unsetenv("SSL_CERT_FILE"); }
  int status_by(const std::string& host, std::uint16_t upstream_port) {
    config.gateway.upstream_urls = {{"judge", cat("https://", host, ":", upstream_port)}};
    start();
    return ask(post("/v1/chat/completions", body_for("judge"))).status;
  }
  support::TemporaryFolder folder;
  std::string certificate = folder / "certificate.pem", key = folder / "key.pem";
};

TEST_F(TlsUpstreamTest, ATrustedCertificateOfThatName) {
  FakeUpstream upstream([](auto& visit) { visit.send(whole_reply("{}")); }, certificate, key);
  EXPECT_EQ(status_by("localhost", upstream.port()), 200);
}

TEST_F(TlsUpstreamTest, RequestsShareAHandshake) {
  FakeUpstream upstream([](auto& visit) {
    visit.keep_open();
    visit.send(whole_reply("{}"));
  }, certificate, key);
  EXPECT_EQ(status_by("localhost", upstream.port()), 200);
  EXPECT_EQ(ask(post("/v1/chat/completions", body_for("judge"))).status, 200);
  EXPECT_EQ(upstream.requests().size(), 2U);
  EXPECT_EQ(upstream.num_connections(), 1);
}

TEST_F(TlsUpstreamTest, ACertificateOfAnotherNameIsRefused) {
  FakeUpstream upstream([](auto& visit) { visit.send(whole_reply("{}")); }, certificate, key);
  EXPECT_EQ(status_by("127.0.0.1", upstream.port()), 502);
  EXPECT_TRUE(upstream.requests().empty()) << "neither body nor key may leave";
}

TEST_F(TlsUpstreamTest, ACertificateThatIsNotTrustedIsRefused) {
  const auto other = folder / "other.pem", other_key = folder / "other-key.pem";
  write_certificate(other, other_key);
  FakeUpstream upstream([](auto& visit) { visit.send(whole_reply("{}")); }, other, other_key);
  EXPECT_EQ(status_by("localhost", upstream.port()), 502);
  EXPECT_TRUE(upstream.requests().empty());
}
}  // namespace
}  // namespace corisco::gateway::fakes
