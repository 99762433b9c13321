// The server as an HTTP server: routes, keys, keep-alive, limits, deadlines, bad bytes.
#include "corisco/base/json.h"
#include "gateway/listen_address.h"
#include "gateway/server_fixture.h"

namespace corisco::gateway::fakes {
namespace {
using nlohmann::json;
struct HttpServerTest : ServerTest {};

TEST_F(HttpServerTest, TheQuietRoutes) {
  start();
  EXPECT_EQ(ask(get("/healthz")).body, "ok\n");
  EXPECT_EQ(ask(get("/readyz")).status, 200);
  EXPECT_EQ(ask(get("/")).status, 200);
  EXPECT_NE(ask(get("/metrics")).body.find("corisco_gateway_requests_total"), std::string::npos);
  EXPECT_EQ(parse_json(ask(get("/v1/models")).body)["data"][0]["id"], "tiny");
  EXPECT_EQ(parse_json(ask(get("/v1/models/any%2Fname")).body)["id"], "any/name");
  EXPECT_EQ(ask(get("http://127.0.0.1/v1/models")).status, 200);
  EXPECT_EQ(ask(get("/nowhere")).status, 404);
  EXPECT_EQ(ask("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n").status, 200);
  const auto reply = ask(get("/v1/chat/completions"));
  EXPECT_EQ(reply.status, 405);
  EXPECT_NE(reply.head.find("Allow: POST"), std::string::npos);
  EXPECT_EQ(ask("BREW /metrics HTTP/1.1\r\nHost: x\r\n\r\n").status, 501);
}

TEST_F(HttpServerTest, AStuckEngineIsNotReadyButTheDaemonLives) {
  start();
  on_io([this] { return is_ready = false; });
  const auto reply = ask(get("/readyz"));
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(reply.body.find("no progress"), std::string::npos);
  EXPECT_EQ(ask(get("/healthz")).status, 200);
  on_io([this] { return is_ready = true; });
  EXPECT_EQ(ask(get("/readyz")).status, 200);
}

TEST_F(HttpServerTest, HeadHasNoBody) {
  start();
  RawClient client(port);
  client.send("HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n" + get("/readyz"));
  EXPECT_EQ(client.read_reply(true).status, 200);
  EXPECT_EQ(client.read_reply().body, "ready\n");
}

TEST_F(HttpServerTest, AdminRoutes) {
  start();
  EXPECT_EQ(parse_json(ask(get("/admin/state")).body)["phase"], "generating");
  EXPECT_EQ(ask(post("/admin/pause", "")).status, 200);
  EXPECT_TRUE(on_io([this] { return is_paused; }));
  EXPECT_EQ(ask(post("/admin/resume", "")).status, 200);
  EXPECT_FALSE(on_io([this] { return is_paused; }));
  const auto reply = ask(post("/admin/rollouts", R"({"task":{"b":1,"a":2},"mode":"val"})"));
  EXPECT_EQ(reply.status, 201);
  EXPECT_EQ(parse_json(reply.body),
            json({{"rollout_id", 41}, {"attempt", 1}, {"mode", "val"}, {"task", {{"a", 2}, {"b", 1}}}, {"api_key", "cor-fake"},
                  {"base_url", "http://x/rollout/41/attempt/1/v1"},
                  {"reward_url", "http://x/rollout/41/attempt/1/events"}}));
  EXPECT_EQ(on_io([this] { return rollouts.tasks.at(0); }), "{\"b\":1,\"a\":2}");
  EXPECT_EQ(ask(post("/admin/rollouts", "{}")).status, 409);
  on_io([this] { return rollouts.waiting = R"({"c":3})"; });
  const auto next = parse_json(ask(post("/admin/rollouts", "{}")).body);
  EXPECT_EQ(next["mode"], "train");
  EXPECT_EQ(next["task"], json({{"c", 3}}));
  EXPECT_EQ(next["reward_url"], "http://x/rollout/42/attempt/2/events");
  for (const char* refused : {R"({"task":{},"mode":"test"})", R"({"task":{},"mode":"train"})", R"({"mode":"val"})",
                              R"({"task":3})"}) {
    EXPECT_EQ(ask(post("/admin/rollouts", refused)).status, 400) << refused;
  }
  EXPECT_EQ(ask(post("/admin/rollouts/41/attempt/1/finish", "")).status, 200);
  EXPECT_EQ(ask(post("/admin/rollouts/42/attempt/1/finish", "")).status, 409);
  on_io([this] { return sink.is_broken = true; });
  const auto unkept = ask(post("/admin/rollouts/41/attempt/1/finish", ""));   // not told as done
  EXPECT_EQ(unkept.status, 500);
  EXPECT_NE(unkept.body.find("disk is full"), std::string::npos) << unkept.body;
  on_io([this] { return sink.is_broken = false; });
  EXPECT_EQ(ask(post("/admin/pause", "", open_attempt(1))).status, 403);
}

// Longer than what the io thread parses itself.
TEST_F(HttpServerTest, LongBodiesAreReadByEveryRoute) {
  start();
  const std::string text(100000, 'x');
  const auto opened = ask(post("/admin/rollouts", cat(R"({"task":{"text":")", text, R"("}})")));
  EXPECT_EQ(opened.status, 201);
  EXPECT_EQ(parse_json(opened.body)["task"]["text"], text);
  const auto key = open_attempt(9);
  const auto begun = cat(R"({"event_type":"reward","more":")", text, "\"");
  EXPECT_EQ(ask(post("/rollout/9/attempt/1/events", begun, key)).status, 400);
  EXPECT_EQ(ask(post("/rollout/9/attempt/1/events", begun + R"(,"data":{"value":0.5}})", key)).status, 200);
  EXPECT_DOUBLE_EQ(on_io([this] { return rollouts.rewards.at({RolloutId{9}, 1}).first; }), 0.5);
  EXPECT_EQ(ask(post("/proxy/pause", cat(R"({"more":")", text, R"("})"))).status, 200);
  EXPECT_TRUE(on_io([this] { return is_paused; }));
}

TEST_F(HttpServerTest, RewardsAreNumbersOrBooleansOnceOnly) {
  start();
  const auto key = open_attempt(9);
  const auto reward = [&](const std::string& data, const std::string& with) {
    const auto event = cat("{\"event_type\":\"reward\",\"data\":", data, "}");
    return ask(post("/rollout/9/attempt/1/events", event, with)).status;
  };
  EXPECT_EQ(reward("{\"value\":1}", ""), 401);
  EXPECT_EQ(reward("{\"value\":1}", open_attempt(10)), 401);
  for (const auto* bad :
       {"{\"value\":\"1\"}", "{\"value\":null}", "{}", "{\"value\":NaN}", "{\"value\":1e999}",
        "{\"value\":[1]}", "5", "{\"value\":1,\"note\":5}"})
    EXPECT_EQ(reward(bad, key), 400) << bad;
  EXPECT_EQ(ask(post("/rollout/9/attempt/1/events", R"({"event_type":"span","data":{}})", key)).status, 400);
  EXPECT_EQ(reward("{\"value\":true,\"note\":\"fine\"}", key), 200);
  EXPECT_EQ(reward("{\"value\":0.5}", key), 409);
  const auto stored = on_io([this] { return rollouts.rewards.at({RolloutId{9}, 1}); });
  EXPECT_EQ(stored, std::pair(1.0, std::string("fine")));
}

TEST_F(HttpServerTest, KeysOverHttp) {
  config.gateway.static_key = "s3cret";
  config.gateway.admin_key = "adm1n";
  start();
  EXPECT_EQ(chat(hi()).status, 401);
  EXPECT_EQ(chat(hi(), "s3cret").status, 200);
  EXPECT_EQ(chat(hi(), "cor-0123456789012345678901234567890123456789").status, 401);
  EXPECT_EQ(ask(get("/admin/state")).status, 401);
  const auto key = open_attempt(4);
  EXPECT_EQ(ask(post("/rollout/4/attempt/1/v1/chat/completions", json_text(hi()), key)).status, 200);
  EXPECT_EQ(ask(post("/rollout/4/attempt/1/v1/chat/completions", json_text(hi()), "s3cret")).status, 401);
  EXPECT_EQ(ask("GET /v1/models HTTP/1.1\r\nHost: x\r\nX-Api-Key: " + key + "\r\n\r\n").status, 200);
}

TEST_F(HttpServerTest, AnObserversKeyOpensWhatIsLookedAt) {
  config.gateway.admin_key = "adm1n";
  config.gateway.observer_key = "eyes";
  start();
  const auto with = [this](std::string request, const std::string& key) {
    return ask(request.insert(request.find("Host"), cat("Authorization: Bearer ", key, "\r\n"))).status;
  };
  EXPECT_EQ(ask(get("/metrics")).status, 401);
  EXPECT_EQ(ask(get("/healthz")).status, 200);
  for (const char* path : {"/metrics", "/admin/state"}) {
    EXPECT_EQ(with(get(path), "eyes"), 200) << path;
    EXPECT_EQ(with(get(path), "adm1n"), 200) << path;
    EXPECT_EQ(with(get(path), open_attempt(path[1])), path[1] == 'm' ? 401 : 403) << path;
  }
  EXPECT_EQ(ask(post("/admin/pause", "", "eyes")).status, 401);
  EXPECT_FALSE(is_paused);
}

TEST_F(HttpServerTest, KeepAliveAndPipelining) {
  start();
  RawClient client(port);
  const auto call = post("/v1/chat/completions", json_text(hi({{"stream", true}})));
  client.send(call + get("/healthz") + call + get("/nowhere") + get("/readyz"));
  EXPECT_EQ(events(client.read_reply().body).back(), "[DONE]");
  EXPECT_EQ(client.read_reply().body, "ok\n");
  EXPECT_EQ(events(client.read_reply().body).back(), "[DONE]");
  EXPECT_EQ(client.read_reply().status, 404);
  EXPECT_EQ(client.read_reply().body, "ready\n");
  client.send("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_NE(client.read_reply().head.find("Connection: close"), std::string::npos);
  EXPECT_TRUE(client.is_closed_by_peer());
}

TEST_F(HttpServerTest, Http10StreamsEndByClosing) {
  start();
  const auto body = json_text(hi({{"stream", true}}));
  RawClient client(port);
  client.send(cat("POST /v1/chat/completions HTTP/1.0\r\nContent-Length: ", body.size(), "\r\n\r\n", body));
  EXPECT_TRUE(client.is_closed_by_peer());
  EXPECT_EQ(client.bytes().find("chunked"), std::string::npos);
  EXPECT_NE(client.bytes().find("data: [DONE]\n\n"), std::string::npos);
}

TEST_F(HttpServerTest, BodiesInChunks) {
  start();
  const std::string head =
      "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  const auto body = json_text(hi());
  char size[16];
  std::snprintf(size, sizeof size, "%zx", body.size());
  const auto chunk = [&](const std::string& line) { return head + line + "\r\n" + body + "\r\n0\r\n"; };
  EXPECT_EQ(ask(chunk(size) + "\r\n").status, 200);
  EXPECT_EQ(ask(chunk(cat(size, ";a=b")) + "\r\n").status, 200);
  EXPECT_EQ(ask(chunk(size) + "X-T: 1\r\n\r\n").status, 200);
  EXPECT_EQ(ask(chunk(size) + "Authorization: Bearer x\r\n\r\n").status, 200);
  for (const std::string bad :
       {"0x5\r\nhello\r\n0\r\n\r\n", "+5\r\nhello\r\n0\r\n\r\n", "0_2e\r\n\r\n", "\r\n\r\n",
        "  5\r\nhello\r\n0\r\n\r\n", "10000000000000005\r\nhello\r\n", "5\nhello\r\n0\r\n\r\n",
        "5\r\nhelloXX0\r\n\r\n", "5;a\nhello\r\n0\r\n\r\n"}) {
    RawClient client(port);
    client.send(head + bad);
    EXPECT_EQ(client.read_reply().status, 400) << bad;
    EXPECT_TRUE(client.is_closed_by_peer()) << bad;
  }
  EXPECT_EQ(ask("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n").status, 400);
  EXPECT_EQ(ask(head + "5;" + std::string(100000, 'a') + "\r\nhello\r\n0\r\n\r\n").status, 400);
}

TEST_F(HttpServerTest, NothingAfterABadRequestIsRead) {
  start();
  RawClient client(port);
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n");
  client.send("0\r\n\r\n" + get("/healthz"));
  EXPECT_TRUE(client.is_closed_by_peer());
  EXPECT_NE(client.bytes().find("HTTP/1.1 400"), std::string::npos);
  EXPECT_EQ(client.bytes().find("HTTP/1.1", 5), std::string::npos);
}

TEST_F(HttpServerTest, TooLargeBodiesAreToldBeforeTheyAreSent) {
  config.gateway.body_bytes_max = 2000;
  start();
  RawClient client(port);
  client.send("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2001\r\n\r\n");
  const auto reply = client.read_reply();
  EXPECT_EQ(reply.status, 413);
  EXPECT_EQ(parse_json(reply.body)["error"]["code"], "body_too_large");
  EXPECT_TRUE(client.is_closed_by_peer());
  RawClient chunked(port);
  chunked.send("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n9c4\r\n" +
               std::string(0x9c4, ' ') + "\r\n0\r\n\r\n");
  EXPECT_EQ(chunked.read_reply().status, 413);
}

TEST_F(HttpServerTest, ARefusedKeyCostsNoBody) {
  config.gateway.static_key = "s3cret";
  start();
  RawClient client(port);
  client.send("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
  EXPECT_EQ(client.read_reply().status, 401);
  EXPECT_TRUE(client.is_closed_by_peer());
}

TEST_F(HttpServerTest, ExpectContinue) {
  start();
  const auto body = json_text(hi());
  RawClient client(port);
  client.send(cat("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ",
                  body.size(), "\r\n\r\n"));
  EXPECT_EQ(client.read_reply().status, 100);
  client.send(body);
  EXPECT_EQ(client.read_reply().status, 200);
}

TEST_F(HttpServerTest, SlowHeadsAndBodiesGet408) {
  config.gateway.header_seconds_max = 1;
  config.gateway.body_seconds_max = 1;
  config.gateway.idle_seconds_max = 1;
  start();
  RawClient head(port), body(port), idle(port);
  head.send("GET / HTTP/1.1\r\nHost:");
  body.send("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nhello");
  EXPECT_EQ(head.read_reply().status, 408);
  EXPECT_EQ(body.read_reply().status, 408);
  EXPECT_TRUE(idle.is_closed_by_peer());
  EXPECT_EQ(idle.bytes(), "");
}

TEST_F(HttpServerTest, AReaderThatStopsIsCut) {
  config.gateway.write_seconds_max = 1;
  start();
  generator.is_manual = true;
  RawClient client(port, 4096);
  client.send(post("/v1/chat/completions", json_text(hi({{"stream", true}}))));
  ASSERT_TRUE(client.wait_for("assistant"));
  expect_that_a_reader_is_cut();
}

TEST_F(HttpServerTest, AnAddressInUseIsAClearError) {
  start();
  auto taken = config;
  taken.gateway.listen = cat("127.0.0.1:", port);
  ServerParts parts;
  parts.io = &io;
  parts.config = &taken;
  parts.clock = &real_clock();
  parts.metrics = &metrics;
  parts.tokenizer = tokenizer;
  parts.chat_template = chat_template;
  Server second(std::move(parts));
  const auto started = second.start();
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.error().message.find("gateway.listen"), std::string::npos);
}

TEST(ListenAddress, Forms) {
  EXPECT_EQ(url_of(parse_listen_address("localhost:80").value()), "http://127.0.0.1:80");
  EXPECT_EQ(url_of(parse_listen_address("[::1]:9").value()), "http://[::1]:9");
  EXPECT_EQ(url_of(parse_listen_address(":9").value()), "http://127.0.0.1:9");
  for (const auto* bad : {"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", "name.example:80"})
    EXPECT_FALSE(parse_listen_address(bad).ok()) << bad;
}
}  // namespace
}  // namespace corisco::gateway::fakes
