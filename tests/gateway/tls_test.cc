// The server over TLS: what works over a plain connection works here, and nothing unencrypted does.
#include "gateway/tls.h"


#include "gateway/server_fixture.h"
#include "gateway/tls_client.h"
#include "support/temporary_folder.h"

namespace corisco::gateway::fakes {
namespace {
struct TlsTest : ServerTest {
  TlsTest() {
    write_certificate(certificate, key);
    config.gateway.tls_certificate = certificate;
    config.gateway.tls_private_key = key;
  }
  std::string stream_request() { return post("/v1/chat/completions", json_text(hi({{"stream", true}}))); }

  support::TemporaryFolder folder;
  std::string certificate = folder / "certificate.pem", key = folder / "key.pem";
};

TEST_F(TlsTest, AStreamedChat) {
  start();
  EXPECT_EQ(on_io([this] { return server->url(); }), cat("https://127.0.0.1:", port));
  TlsClient client(port, certificate);
  ASSERT_TRUE(client.is_open());
  EXPECT_EQ(client.version(), "TLSv1.3");
  EXPECT_EQ(client.protocol(), "http/1.1");
  client.send(stream_request());
  EXPECT_EQ(events(client.read_reply().body).back(), "[DONE]");
  client.send(post("/v1/chat/completions", json_text(hi())));
  EXPECT_EQ(parse_json(client.read_reply().body)["choices"][0]["message"]["content"], "hello");
  client.send("GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(client.read_reply().body, "ready\n");
  EXPECT_TRUE(client.is_closed_by_peer());
  EXPECT_TRUE(client.got_close_notify());
}

TEST_F(TlsTest, Version12AndNoAlpn) {
  start();
  TlsClient client(port, certificate, {TLS1_2_VERSION, "", 0});
  ASSERT_TRUE(client.is_open());
  EXPECT_EQ(client.version(), "TLSv1.2");
  EXPECT_EQ(client.protocol(), "");
  client.send(get("/healthz"));
  EXPECT_EQ(client.read_reply().body, "ok\n");
}

TEST_F(TlsTest, AClientThatSpeaksOnlyHttp2IsRefused) {
  start();
  EXPECT_FALSE(TlsClient(port, certificate, {TLS1_3_VERSION, "\x02h2", 0}).is_open());
  EXPECT_TRUE(eventually([this] {
    return metrics.to_prometheus().find("rejected_requests_total{reason=\"tls_handshake\"} 1") != std::string::npos;
  }));
}

// More than a record, a chunk of the inbox and the kernel's buffers hold, both ways.
TEST_F(TlsTest, LargeBodiesBothWays) {
  start();
  generator.is_manual = true;
  TlsClient client(port, certificate, {TLS1_3_VERSION, "", 4096});
  ASSERT_TRUE(client.is_open());
  client.send(post("/v1/chat/completions", std::string(3000000, ' ') + json_text(hi())));
  ASSERT_TRUE(eventually([this] { return generator.requests.size() == 1; }));
  on_io([this] {
    std::vector<TokenId> tokens;
    for (int i = 0; i < 500000; ++i) tokens.push_back('a' + i % 26);
    tokens.push_back(kEnd);
    generator.give(RequestId{1}, std::move(tokens), FinishReason::stop);
    return 0;
  });
  const auto reply = client.read_reply();
  ASSERT_EQ(reply.status, 200);
  const auto text = parse_json(reply.body)["choices"][0]["message"]["content"].get<std::string>();
  ASSERT_EQ(text.size(), 500000U);
  for (std::size_t i = 0; i < text.size(); ++i) ASSERT_EQ(text[i], static_cast<char>('a' + i % 26)) << i;
}

TEST_F(TlsTest, AClientThatLeavesIsNoticed) {
  start();
  generator.is_manual = true;
  TlsClient client(port, certificate);
  client.send(stream_request());
  ASSERT_TRUE(client.wait_for("assistant"));
  on_io([this] { generator.give(RequestId{1}, {'a', 'b'}, {}); return 0; });
  ASSERT_TRUE(client.wait_for("ab"));
  client.close();
  EXPECT_TRUE(eventually([this] { return generator.cancelled.size() == 1; }));
  EXPECT_TRUE(eventually([this] { return sink.calls.size() == 1 && !sink.delivered.at(CallId{1}); }));
}

TEST_F(TlsTest, ACloseNotifyIsLeaving) {
  start();
  generator.is_manual = true;
  TlsClient client(port, certificate);
  client.send(stream_request());
  ASSERT_TRUE(client.wait_for("assistant"));
  client.send_close_notify();
  EXPECT_TRUE(eventually([this] { return generator.cancelled.size() == 1; }));
}

TEST_F(TlsTest, AReaderThatStopsIsCut) {
  config.gateway.write_seconds_max = 1;
  start();
  generator.is_manual = true;
  TlsClient client(port, certificate, {TLS1_3_VERSION, "", 4096});
  client.send(stream_request());
  ASSERT_TRUE(client.wait_for("assistant"));
  expect_that_a_reader_is_cut();
}

TEST_F(TlsTest, StoppingTellsAStreamSoBeforeItEnds) {
  start();
  generator.is_manual = true;
  TlsClient client(port, certificate);
  client.send(stream_request());
  ASSERT_TRUE(client.wait_for("assistant"));
  on_io([this] { server->stop(); return 0; });
  EXPECT_TRUE(client.wait_for("the daemon is stopping"));
  EXPECT_TRUE(client.is_closed_by_peer());
  EXPECT_TRUE(client.got_close_notify());
}

TEST_F(TlsTest, APlainRequestIsToldToUseHttps) {
  start();
  RawClient client(port);
  client.send(get("/healthz"));
  const auto reply = client.read_reply();
  EXPECT_EQ(reply.status, 400);
  EXPECT_TRUE(reply.is_whole);
  EXPECT_NE(reply.body.find("https://"), std::string::npos);
  EXPECT_TRUE(client.is_closed_by_peer());
  EXPECT_EQ(client.bytes(), "");
}

TEST_F(TlsTest, OtherBytesAndSlowHandshakesAreClosed) {
  config.gateway.header_seconds_max = 1;
  start();
  RawClient bytes(port), silent(port), slow(port);
  bytes.send("SSH-2.0-OpenSSH_9.2\r\n");
  slow.send("\x16\x03\x01\x00\xa5\x01");
  EXPECT_TRUE(bytes.is_closed_by_peer());
  EXPECT_TRUE(silent.is_closed_by_peer());
  EXPECT_TRUE(slow.is_closed_by_peer());
  EXPECT_TRUE(eventually([this] {
    return metrics.to_prometheus().find("corisco_gateway_connections 0") != std::string::npos;
  }));
}

std::string problem(const std::string& certificate, const std::string& key) {
  const auto loaded = TlsServer::load(certificate, key);
  return loaded.ok() ? std::string() : loaded.error().message;
}

TEST_F(TlsTest, FilesThatCannotBeUsedAreToldByKey) {
  EXPECT_EQ(problem(certificate, key), "");
  const std::string none = folder / "none.pem", other = folder / "other.pem", locked = folder / "locked.pem";
  EXPECT_EQ(problem(none, key).find("gateway.tls_certificate: cannot use " + none), 0U);
  EXPECT_EQ(problem(key, key).find("gateway.tls_certificate: "), 0U);
  EXPECT_EQ(problem(certificate, none).find("gateway.tls_private_key: cannot use " + none), 0U);
  write_certificate(folder / "another.pem", other);
  EXPECT_EQ(problem(certificate, other).find("gateway.tls_private_key: "), 0U);
  write_certificate(folder / "locked-certificate.pem", locked, "secret");
  EXPECT_EQ(problem(folder / "locked-certificate.pem", locked).find("gateway.tls_private_key: "), 0U);

  config.gateway.tls_private_key = other;
  ServerParts parts;
  parts.io = &io;
  parts.config = &config;
  parts.clock = &real_clock();
  parts.metrics = &metrics;
  parts.tokenizer = tokenizer;
  parts.chat_template = chat_template;
  Server refused(std::move(parts));
  EXPECT_FALSE(refused.start().ok());
}
}  // namespace
}  // namespace corisco::gateway::fakes
