// More connections than gateway.connections_max: what still answers, what is told to come later, what waits.
#include <memory>

#include "corisco/base/json.h"
#include "gateway/server_fixture.h"

namespace corisco::gateway::fakes {
namespace {
struct OverloadTest : ServerTest {
  OverloadTest() { config.gateway.connections_max = 1; }
  // Holds the only place by a connection that is kept open.
  void start_full() {
    start();
    holder = std::make_unique<RawClient>(port);
    holder->send(get("/healthz"));
    ASSERT_EQ(holder->read_reply().status, 200);
  }
  // The one reply of a connection that is then closed.
  RawReply ask_once(const std::string& request) {
    RawClient client(port);
    client.send(request);
    auto reply = client.read_reply();
    EXPECT_NE(reply.head.find("Connection: close"), std::string::npos) << request;
    EXPECT_TRUE(client.is_closed_by_peer()) << request;
    EXPECT_EQ(client.bytes(), "") << request;
    return reply;
  }
  bool has_connections(std::uint32_t number) {
    return eventually([this, number] {
      return metrics.to_prometheus().find(cat("\ncorisco_gateway_connections ", number, "\n")) != std::string::npos;
    });
  }

  std::unique_ptr<RawClient> holder;
};

TEST_F(OverloadTest, ProbesMetricsAdminAndRewardsAnswer) {
  start_full();
  const auto key = open_attempt(9);
  const std::string reward = R"({"event_type":"reward","data":{"value":0.5}})";
  const std::vector<std::pair<std::string, int>> cases = {
      {get("/healthz"), 200},
      {get("/readyz"), 200},
      {get("/metrics"), 200},
      {get("/admin/state"), 200},
      {post("/admin/pause", "{}"), 200},
      {post("/admin/resume", ""), 200},
      {post("/admin/rollouts", R"({"task":{"a":1},"mode":"val"})"), 201},
      {post("/proxy/pause", "{}"), 200},
      {get("/proxy/state"), 200},
      {post("/proxy/resume", "{}"), 200},
      {post("/rollout/9/attempt/1/events", reward, key), 200},
      {get("/nowhere"), 404},
      {post("/healthz", "{}"), 405},
      {post("/v1/chat/completions", json_text(hi()), "cor-0123456789012345678901234567890123456789"), 401},
  };
  for (const auto& [request, status] : cases) EXPECT_EQ(ask_once(request).status, status) << request;
  EXPECT_DOUBLE_EQ(on_io([this] { return rollouts.rewards.at({RolloutId{9}, 1}).first; }), 0.5);
  holder->send(get("/readyz"));
  EXPECT_EQ(holder->read_reply().status, 200) << "who has a place keeps it";
}

// Each in its API's shape; the body is not waited for.
TEST_F(OverloadTest, AllElseIsRefusedAtOnce) {
  start_full();
  const auto head = [](const std::string& path) {
    return cat("POST ", path, " HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n");
  };
  for (const auto& request : {head("/v1/chat/completions"), head("/v1/completions"), head("/v1/responses"),
                              head("/generate"), get("/v1/models"), get("/")}) {
    const auto reply = ask_once(request);
    EXPECT_EQ(reply.status, 429) << request;
    EXPECT_NE(reply.head.find("\r\nRetry-After: 1\r\n"), std::string::npos) << reply.head;
    const auto error = parse_json(reply.body)["error"];
    EXPECT_EQ(error["type"], "rate_limit_error");
    EXPECT_EQ(error["code"], "overloaded");
    EXPECT_NE(reply.body.find("gateway.connections_max"), std::string::npos);
  }
  const auto reply = ask_once(head("/v1/messages"));
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(parse_json(reply.body)["type"], "error");
  EXPECT_EQ(parse_json(reply.body)["error"]["type"], "rate_limit_error");
  EXPECT_EQ(parse_json(ask_once(get("/api/rollouts")).body)["detail"].is_string(), true);
  EXPECT_TRUE(on_io([this] { return generator.requests.empty(); }));
}

TEST_F(OverloadTest, APipelineOfRequestsGetsOneReply) {
  start_full();
  EXPECT_EQ(ask_once(get("/healthz") + get("/healthz")).body, "ok\n");
}

// As by the engine's full queue: the attempt is tried again rather than trained.
TEST_F(OverloadTest, ARefusedAttemptSawTheDaemonsFault) {
  start_full();
  const auto key = open_attempt(3);
  const auto saw_error = [this] { return attempts.summary({RolloutId{3}, 1}).saw_engine_error; };
  EXPECT_EQ(ask_once(get("/v1/models")).status, 429);
  EXPECT_FALSE(on_io(saw_error));
  EXPECT_EQ(ask_once(post("/v1/chat/completions", json_text(hi()), key)).status, 429);
  EXPECT_TRUE(on_io(saw_error));
}

TEST_F(OverloadTest, APlaceThatIsFreeAgainServesAsEver) {
  start_full();
  EXPECT_EQ(ask_once(post("/v1/chat/completions", json_text(hi()))).status, 429);
  holder.reset();
  ASSERT_TRUE(has_connections(0));
  RawClient next(port);
  for (int i = 0; i < 2; ++i) {
    next.send(post("/v1/chat/completions", json_text(hi())));
    EXPECT_EQ(next.read_reply().status, 200);
  }
}

TEST_F(OverloadTest, BeyondTheReserveConnectionsWait) {
  start_full();
  std::vector<std::unique_ptr<RawClient>> silent;
  for (std::uint32_t i = 0; i < kConnectionsReserve; ++i) silent.push_back(std::make_unique<RawClient>(port));
  ASSERT_TRUE(has_connections(1 + kConnectionsReserve));
  RawClient late(port);
  late.send(get("/healthz"));
  EXPECT_FALSE(late.receive(150));
  silent.front()->send(get("/healthz"));
  EXPECT_EQ(silent.front()->read_reply().status, 200);
  silent.front()->close();
  EXPECT_EQ(late.read_reply().status, 200);
}

// Not as long as a connection with a place may be idle.
TEST_F(OverloadTest, WhoSaysNothingLeavesTheReserve) {
  config.gateway.header_seconds_max = 1;
  start_full();
  RawClient silent(port), slow(port);
  slow.send("GET /healthz HT");
  EXPECT_TRUE(silent.is_closed_by_peer());
  EXPECT_EQ(silent.bytes(), "");
  EXPECT_EQ(slow.read_reply().status, 408);
  ASSERT_TRUE(has_connections(1));
}
}  // namespace
}  // namespace corisco::gateway::fakes
