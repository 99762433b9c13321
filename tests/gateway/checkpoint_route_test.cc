// POST /admin/checkpoint over HTTP: what the daemon answers, how long the request waits, and for whom.
#include "corisco/base/json.h"
#include "gateway/server_fixture.h"

namespace corisco::gateway::fakes {
namespace {
using nlohmann::json;

struct CheckpointRouteTest : ServerTest {
  bool has_metric(const std::string& line) const { return metrics.to_prometheus().find(line) != std::string::npos; }
  // Answers the request that waits, and gives its reply.
  RawReply answered(const Result<coordinator::Checkpoint>& answer) {
    RawClient client(port);
    client.send(post("/admin/checkpoint", ""));
    EXPECT_TRUE(eventually([this] { return !checkpoint_askers.empty(); }));
    EXPECT_FALSE(client.receive(50));
    on_io([&] {
      for (const auto& done : std::exchange(checkpoint_askers, {})) done(answer);
      return 0;
    });
    return client.read_reply();
  }
};

TEST_F(CheckpointRouteTest, WaitsUntilItIsWritten) {
  start();
  auto reply = answered(coordinator::Checkpoint{PolicyVersion{5}, "runs/a/checkpoints/step-000005"});
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(parse_json(reply.body),
            json({{"state", "written"}, {"policy_version", 5}, {"checkpoint", "runs/a/checkpoints/step-000005"}}));
  reply = answered(coordinator::Checkpoint{PolicyVersion{5}, "runs/a/checkpoints/step-000005", true});
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(parse_json(reply.body)["state"], "existed");
}

TEST_F(CheckpointRouteTest, WhyThereIsNoneIsTold) {
  start();
  auto reply = answered(Error{Code::internal, "the disk broke"});
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(parse_json(reply.body)["error"]["message"], "the disk broke");
  reply = answered(Error{Code::unavailable, "the disk is full"});
  EXPECT_EQ(reply.status, 503);
  reply = answered(Error{Code::conflict, "nothing is trained"});
  EXPECT_EQ(reply.status, 409);
  EXPECT_EQ(parse_json(reply.body)["error"]["type"], "conflict_error");
  EXPECT_NE(reply.head.find("x-should-retry: false"), std::string::npos);
}

TEST_F(CheckpointRouteTest, OneThatIsStillToBeWrittenIsPending) {
  checkpoint_wait = std::chrono::milliseconds(50);
  start();
  RawClient client(port);
  client.send(post("/admin/checkpoint", ""));
  const auto reply = client.read_reply();
  EXPECT_EQ(reply.status, 202);
  EXPECT_EQ(parse_json(reply.body), json({{"state", "pending"}, {"policy_version", 3}, {"checkpoint", nullptr}}));
  // The connection goes on, whenever the answer comes.
  on_io([this] {
    checkpoint_askers.at(0)(coordinator::Checkpoint{PolicyVersion{4}, "late"});
    return 0;
  });
  client.send(get("/healthz"));
  EXPECT_EQ(client.read_reply().body, "ok\n");
}

TEST_F(CheckpointRouteTest, AClientThatLeavesDoesNotWaitOn) {
  start();
  RawClient client(port);
  client.send(post("/admin/checkpoint", ""));
  ASSERT_TRUE(eventually([this] { return checkpoint_askers.size() == 1; }));
  EXPECT_TRUE(has_metric("corisco_gateway_requests_in_flight 1\n"));
  client.close();
  EXPECT_TRUE(eventually([this] { return has_metric("corisco_gateway_requests_in_flight 0\n"); }));
}

TEST_F(CheckpointRouteTest, NeedsTheAdminsKey) {
  config.gateway.admin_key = "adm1n";
  start();
  EXPECT_EQ(ask(post("/admin/checkpoint", "")).status, 401);
  EXPECT_EQ(ask(post("/admin/checkpoint", "", "other")).status, 401);
  EXPECT_EQ(ask(post("/admin/checkpoint", "", open_attempt(1))).status, 403);
  EXPECT_EQ(ask(get("/admin/checkpoint")).status, 405);
  EXPECT_TRUE(on_io([this] { return checkpoint_askers.empty(); }));
}
}  // namespace
}  // namespace corisco::gateway::fakes
