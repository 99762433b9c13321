// Agent Lightning's API over sockets: what its controllers, clients and agents send, and what they get.
#include "corisco/base/json.h"
#include "gateway/server_fixture.h"

namespace corisco::gateway::fakes {
namespace {
using nlohmann::json;

struct AgentLightningTest : ServerTest {
  RawReply request(const std::string& method, const std::string& path, const json& body = {},
                   const std::string& key = {}) {
    const auto text = body.is_null() ? std::string() : json_text(body);
    const auto bearer = key.empty() ? std::string() : cat("Authorization: Bearer ", key, "\r\n");
    RawClient client(port);
    client.send(cat(method, " ", path, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n", bearer,
                    "Content-Length: ", text.size(), "\r\n\r\n", text));
    auto reply = client.read_reply();
    if (reply.status != 204) return reply;
    client.is_closed_by_peer();
    reply.body = client.bytes();
    return reply;
  }
  json got(const std::string& path) { return parse_json(request("GET", path).body); }
  // A validation rollout of a caller's own, under the name.
  json create(const std::string& name, const json& more = json::object()) {
    json wanted = {{"rollout_id", name}, {"input", {{"question", "1+1"}}}, {"is_train", false}};
    wanted.update(more);
    const auto reply = request("POST", "/api/rollouts", json::array({wanted}));
    EXPECT_EQ(reply.status, 201) << reply.body;
    return parse_json(reply.body)[0];
  }
  RawReply patch(const std::string& name, const json& status) {
    return request("PATCH", "/api/rollouts/" + name, {{"status", status}});
  }
  RawReply event(const std::string& name, const std::string& type, const json& data, const std::string& key = {}) {
    const json body = {{"event_type", type}, {"data", data}};
    return request("POST", cat("/api/rollouts/", name, "/attempt/0/events"), body, key);
  }
  RawReply call(const std::string& name, const std::string& key = {}, const std::string& mode = "val") {
    const auto base = cat("/proxy/rollout/", name, "/attempt/0/mode/", mode, "/openai/v1");
    return request("POST", base + "/chat/completions", hi(), key);
  }
  // One of the run, which waits for a harness elsewhere.
  void add_training_rollout(std::uint64_t id) {
    on_io([&] {
      rollouts.add({{RolloutId{id}, 1}, Mode::train, RolloutState::queued, true, "{}", 1e9, 1e9, {}, {}, ""});
      return 0;
    });
  }
};

TEST_F(AgentLightningTest, ACreatedRolloutQueuesAndKeepsWhatItWasGiven) {
  start();
  const auto rollout = create("mine", {{"config", {{"timeout_seconds", 30}, {"local", {{"agent_class", "a:B"}}}}},
                                       {"metadata", {{"batch_idx", 3}}}});
  EXPECT_EQ(rollout["rollout_id"], "mine");
  EXPECT_EQ(rollout["input"], json({{"question", "1+1"}}));
  EXPECT_EQ(rollout["is_train"], false);
  EXPECT_EQ(rollout["config"]["timeout_seconds"], 30);
  EXPECT_EQ(rollout["config"]["local"]["agent_class"], "a:B");
  EXPECT_EQ(rollout["metadata"], json({{"batch_idx", 3}}));
  EXPECT_EQ(rollout["status"]["state"], "queuing");
  EXPECT_EQ(rollout["status"]["version"], 1);
  const auto detail = got("/api/rollouts/mine");
  EXPECT_EQ(detail["attempts"], json::array());
  EXPECT_EQ(detail["rollout"], rollout);
}

TEST_F(AgentLightningTest, CreatingAgainChangesNothing) {
  start();
  create("mine");
  EXPECT_EQ(patch("mine", {{"state", "running"}}).status, 200);
  EXPECT_EQ(event("mine", "note", {{"text", "x"}}).status, 200);
  const auto again = create("mine", {{"input", {{"question", "other"}}}});
  EXPECT_EQ(again["input"]["question"], "1+1");
  EXPECT_EQ(again["status"]["state"], "running");
  EXPECT_EQ(got("/api/rollouts/mine/events?event_type=note").size(), 1U);
  EXPECT_EQ(on_io([this] { return rollouts.open.size(); }), 1U);
}

TEST_F(AgentLightningTest, StatesMoveOneWay) {
  start();
  create("mine");
  EXPECT_EQ(patch("mine", {{"state", "succeeded"}}).status, 409);
  auto reply = patch("mine", {{"state", "running"}, {"last_attempt_id", "0"}, {"k8s_job_name", "job-1"}});
  ASSERT_EQ(reply.status, 200);
  auto status = parse_json(reply.body)["status"];
  EXPECT_EQ(status["state"], "running");
  EXPECT_EQ(status["k8s_job_name"], "job-1");
  EXPECT_EQ(status["last_attempt_id"], "0");
  EXPECT_GT(status["version"], 1);
  EXPECT_EQ(patch("mine", {{"state", "queuing"}}).status, 409);
  EXPECT_EQ(patch("mine", {{"state", "cancelled"}}).status, 422);
  EXPECT_EQ(patch("mine", {{"colour", "red"}}).status, 422);
  EXPECT_EQ(patch("mine", json::object()).status, 200);
  EXPECT_EQ(patch("other", {{"state", "running"}}).status, 404);
  reply = patch("mine", {{"state", "failed"}, {"error_message", "subprocess exited with code 1"}});
  ASSERT_EQ(reply.status, 200);
  status = parse_json(reply.body)["status"];
  EXPECT_EQ(status["state"], "failed");
  EXPECT_EQ(status["error_message"], "subprocess exited with code 1");
  EXPECT_EQ(on_io([this] { return rollouts.ended.at(0).note; }), "subprocess exited with code 1");
  EXPECT_EQ(patch("mine", {{"state", "succeeded"}}).status, 409) << "an end is final";
}

TEST_F(AgentLightningTest, AControllerFindsAndRunsTheRunsRollouts) {
  start();
  add_training_rollout(7);
  add_training_rollout(8);
  create("mine");
  auto waiting = got("/api/rollouts?state_in=queuing&state_in=running&limit=50");
  ASSERT_EQ(waiting.size(), 3U);
  EXPECT_EQ(waiting[0]["rollout_id"], "7");
  EXPECT_EQ(waiting[0]["is_train"], true);
  EXPECT_EQ(got("/api/rollouts?state_in=queuing&limit=1").size(), 1U);
  EXPECT_EQ(patch("7", {{"state", "running"}}).status, 200);
  on_io([this] { return rollouts.start_waiting({RolloutId{8}, 1}).ok(); });   // somebody else takes it
  const auto running = got("/api/rollouts?state_in=running");
  ASSERT_EQ(running.size(), 1U) << "a controller would end those that it does not know";
  EXPECT_EQ(running[0]["rollout_id"], "7");
  EXPECT_EQ(patch("7", {{"state", "succeeded"}}).status, 200);
  EXPECT_EQ(got("/api/rollouts?state_in=succeeded")[0]["rollout_id"], "7");
  EXPECT_EQ(request("GET", "/api/rollouts").status, 422);
  EXPECT_EQ(request("GET", "/api/rollouts?state_in=done").status, 422);
  EXPECT_EQ(request("DELETE", "/api/rollouts/8").status, 409) << "it is not its reader's to end";
}

TEST_F(AgentLightningTest, AFirstCallStartsARolloutThatWaits) {
  start();
  create("mine");
  EXPECT_EQ(call("mine", "EMPTY").status, 200);
  EXPECT_EQ(got("/api/rollouts/mine")["rollout"]["status"]["state"], "running");
  EXPECT_EQ(got("/api/rollouts/mine")["attempts"], json({"0"}));
  const auto request_seen = on_io([this] { return generator.requests.at(0); });
  EXPECT_EQ(request_seen.attempt, (AttemptKey{RolloutId{50}, 1}));
  EXPECT_FLOAT_EQ(request_seen.sampling.temperature, 0.25F) << "as in validation";
  EXPECT_EQ(call("nobody").status, 404);
}

TEST_F(AgentLightningTest, TheModeOfThePathMustBeTheRollouts) {
  start();
  create("mine");
  const auto reply = call("mine", {}, "train");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(parse_json(reply.body)["error"]["code"], "mode_mismatch");
  EXPECT_EQ(call("mine", {}, "test").status, 404);
}

TEST_F(AgentLightningTest, AnAgentOfTheRunUsesItsOwnKey) {
  config.gateway.admin_key = "boss";
  start();
  const auto key = open_attempt(7), other = open_attempt(8);
  on_io([this] {
    rollouts.add({{RolloutId{7}, 1}, Mode::train, RolloutState::running, true, "{}", 1e9, 1e9, {}, {}, ""});
    return 0;
  });
  EXPECT_EQ(call("7", key, "train").status, 200);
  EXPECT_EQ(call("7", "boss", "train").status, 200);
  EXPECT_EQ(call("7", other, "train").status, 401);
  EXPECT_EQ(call("7", "", "train").status, 401);
  EXPECT_EQ(event("7", "reward", {{"value", 0.5}}, other).status, 401);
  EXPECT_EQ(event("7", "reward", {{"value", 0.5}}, key).status, 200);
  for (const auto* path :
       {"/api/rollouts/7", "/api/rollouts?state_in=running", "/api/rollouts/7/events", "/proxy/state"})
    EXPECT_EQ(request("GET", path, {}, key).status, 403) << path;
  const auto reply = request("GET", "/api/rollouts/7");
  EXPECT_EQ(reply.status, 401);
  EXPECT_TRUE(parse_json(reply.body)["detail"].is_string());
  on_io([this] { attempts.close({RolloutId{7}, 1}); return 0; });
  EXPECT_EQ(call("7", key, "train").status, 409);
  EXPECT_EQ(event("7", "reward", {{"value", 9}}, key).status, 409);
}

TEST_F(AgentLightningTest, OnlyItsOwnKeyOpensARolloutThatTheDaemonRuns) {
  start();                               // without an admin key: this machine is trusted with /api
  const auto key = open_attempt(9);
  EXPECT_EQ(call("9", "", "train").status, 401);
  EXPECT_EQ(call("9", "EMPTY", "train").status, 401);
  EXPECT_EQ(event("9", "reward", {{"value", 1}}).status, 404);
  EXPECT_EQ(call("9", key, "train").status, 200);
  EXPECT_EQ(event("9", "reward", {{"value", 1}}, key).status, 200);
  EXPECT_EQ(on_io([this] { return rollouts.rewards.size(); }), 1U);
}

TEST_F(AgentLightningTest, ARewardIsANumberAndCountsOnce) {
  start();
  create("mine");
  patch("mine", {{"state", "running"}});
  for (const json& value : {json("1.0"), json(nullptr), json::array(), json::object()}) {
    const auto reply = event("mine", "reward", {{"value", value}});
    EXPECT_EQ(reply.status, 422) << value;
    EXPECT_EQ(parse_json(reply.body)["detail"][0]["loc"], json({"body", "data.value"}));
  }
  const auto reply = event("mine", "reward", {{"value", true}, {"source", "agent"}, {"reason", "exact"}, {"more", 1}});
  ASSERT_EQ(reply.status, 200);
  const auto posted = parse_json(reply.body);
  EXPECT_EQ(posted["rollout_id"], "mine");
  EXPECT_EQ(posted["attempt_id"], "0");
  EXPECT_GT(posted["timestamp"], 1.7e9);
  EXPECT_EQ(posted["data"], json({{"value", 1.0}, {"source", "agent"}, {"reason", "exact"}, {"more", 1}}));
  EXPECT_EQ(event("mine", "reward", {{"value", 9}}).status, 409);
  const auto noted = on_io([this] { return rollouts.rewards.at({RolloutId{50}, 1}); });
  EXPECT_EQ(noted, (std::pair<double, std::string>(1, "exact")));
  const auto listed = got("/api/rollouts/mine/events?event_type=reward&format=triplet");
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0]["data"], json({{"value", 1.0}, {"source", "agent"}, {"reason", "exact"}}));
}

TEST_F(AgentLightningTest, EventsAndCallsComeInTheirOrder) {
  start();
  create("mine");
  Call call;
  call.prompt_ids = {1, 2};
  call.tokens = {{3, -0.5F, -0.5F, PolicyVersion{4}}};
  call.request_json = "[]";
  call.started_unix_seconds = 1e9;
  on_io([&] { rollouts.calls[{RolloutId{50}, 1}] = {call}; return 0; });
  patch("mine", {{"state", "running"}});
  EXPECT_EQ(event("mine", "note", {{"text", "later"}}).status, 200);
  auto listed = got("/api/rollouts/mine/events?format=triplet&include_routed_experts=false");
  ASSERT_EQ(listed.size(), 2U);
  EXPECT_EQ(listed[0]["event_type"], "model_request");
  EXPECT_EQ(listed[0]["data"]["response_token_ids"], json({3}));
  EXPECT_EQ(listed[1]["data"]["text"], "later");
  EXPECT_EQ(event("mine", "model_request", json::object()).status, 501);
  EXPECT_EQ(request("GET", "/api/rollouts/mine/events?format=csv").status, 422);
  EXPECT_EQ(request("GET", "/api/rollouts/other/events").status, 404);
  on_io([this] { rollouts.calls.clear(); return 0; });
  EXPECT_EQ(request("GET", "/api/rollouts/mine/events").status, 410);
  add_training_rollout(7);
  EXPECT_EQ(request("GET", "/api/rollouts/7/events").status, 501);
  EXPECT_EQ(request("GET", "/api/rollouts/7/events?event_type=reward").status, 200);
}

TEST_F(AgentLightningTest, AGradersRewardIsListedAsAnEvent) {
  start();
  create("mine");
  patch("mine", {{"state", "running"}});
  on_io([this] { rollouts.rewards[{RolloutId{50}, 1}] = {0.25, ""}; return 0; });
  EXPECT_EQ(patch("mine", {{"state", "succeeded"}}).status, 200);
  const auto listed = got("/api/rollouts/mine/events?event_type=reward");
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0]["data"]["value"], 0.25);
}

TEST_F(AgentLightningTest, DeletingEndsAndForgets) {
  start();
  create("mine");
  call("mine");
  const auto reply = request("DELETE", "/api/rollouts/mine");
  EXPECT_EQ(reply.status, 204);
  EXPECT_EQ(reply.body, "");
  EXPECT_EQ(reply.head.find("Content-Length"), std::string::npos);
  EXPECT_EQ(request("GET", "/api/rollouts/mine").status, 404);
  EXPECT_EQ(request("GET", "/api/rollouts/mine/events").status, 404);
  EXPECT_EQ(request("DELETE", "/api/rollouts/mine").status, 204);
  EXPECT_EQ(call("mine").status, 404);
  EXPECT_EQ(on_io([this] { return attempts.size(); }), 0U);
}

TEST_F(AgentLightningTest, TheLogOfEndsHasACursor) {
  start();
  for (const auto* name : {"a", "b", "c"}) {
    create(name, {{"input", {{"instance_id", cat("i-", name)}}}});
    patch(name, {{"state", "running"}});
  }
  for (const auto* name : {"b", "a"}) EXPECT_EQ(patch(name, {{"state", "succeeded"}}).status, 200);
  auto page = got("/api/rollouts/terminal?after=0&limit=1");
  ASSERT_EQ(page["items"].size(), 1U);
  const json first = {{"rollout_id", "b"}, {"state", "succeeded"}, {"data_id", "i-b"}, {"is_train", false}};
  EXPECT_EQ(page["items"][0], first);
  EXPECT_EQ(page["next_after"], 1);
  EXPECT_EQ(page["total_terminal"], 2);
  page = got("/api/rollouts/terminal?after=1");
  EXPECT_EQ(page["items"][0]["rollout_id"], "a");
  EXPECT_EQ(page["next_after"], 2);
  EXPECT_EQ(request("GET", "/api/rollouts/terminal?after=x").status, 422);
}

TEST_F(AgentLightningTest, WhatCannotBeHonouredIsRefusedByName) {
  start();
  const auto create_with = [&](const json& rollout) {
    return request("POST", "/api/rollouts", json::array({rollout}));
  };
  const json task = {{"question", "1+1"}};
  auto reply = create_with({{"input", task}});
  EXPECT_EQ(reply.status, 501) << "is_train is true by default";
  EXPECT_NE(parse_json(reply.body)["detail"].get<std::string>().find("rollouts.tasks"), std::string::npos);
  EXPECT_EQ(create_with({{"input", "text"}, {"is_train", false}}).status, 422);
  EXPECT_EQ(create_with({{"is_train", false}}).status, 422);
  EXPECT_EQ(create_with({{"input", task}, {"is_train", false}, {"rollout_id", "a/b"}}).status, 422);
  EXPECT_EQ(create_with({{"input", task}, {"is_train", false}, {"rollout_id", "12"}}).status, 422);
  EXPECT_EQ(create_with({{"input", task}, {"is_train", false}, {"config", {{"timeout_seconds", 0}}}}).status, 422);
  EXPECT_EQ(request("POST", "/api/rollouts", task).status, 422);
  const json two = {{{"input", task}, {"is_train", false}}, {{"input", task}}};
  EXPECT_EQ(request("POST", "/api/rollouts", two).status, 501);
  EXPECT_TRUE(on_io([this] { return rollouts.open.empty(); })) << "all or none";
  EXPECT_EQ(request("POST", "/api/models", json::array()).status, 501);
  EXPECT_EQ(request("DELETE", "/api/models").status, 501);
  EXPECT_EQ(request("PUT", "/api/rollouts/7").status, 405);
}

TEST_F(AgentLightningTest, TheModelThatThereIs) {
  start();
  const auto models = got("/api/models");
  ASSERT_EQ(models.size(), 1U);
  EXPECT_EQ(models[0], json({{"model", "tiny"}, {"endpoint", "http://x/v1"}, {"version", 3}}));
}

TEST_F(AgentLightningTest, PauseAndResumeEchoTheirFields) {
  start();
  auto reply = request("POST", "/proxy/pause", {{"retry_after_seconds", 7}, {"reason", "update"}});
  ASSERT_EQ(reply.status, 200);
  const json paused = {{"paused", true}, {"retry_after_seconds", 7}, {"reason", "update"}, {"inflight", 0}};
  EXPECT_EQ(parse_json(reply.body), paused);
  EXPECT_EQ(got("/proxy/state"), paused);
  EXPECT_TRUE(on_io([this] { return is_paused; }));
  reply = request("POST", "/proxy/resume");
  const json resumed = {{"paused", false}, {"retry_after_seconds", 7}, {"reason", nullptr}, {"inflight", 0}};
  EXPECT_EQ(parse_json(reply.body), resumed);
  EXPECT_FALSE(on_io([this] { return is_paused; }));
  EXPECT_EQ(request("POST", "/proxy/pause").status, 200) << "a body is not needed";
  EXPECT_EQ(request("POST", "/proxy/pause", {{"retry_after_seconds", "soon"}}).status, 422);
}
}  // namespace
}  // namespace corisco::gateway::fakes
