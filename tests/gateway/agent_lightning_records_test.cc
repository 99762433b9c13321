// The small parts of Agent Lightning's API: its paths, its queries, its names and its objects.
#include <gtest/gtest.h>

#include "corisco/base/json.h"
#include "gateway/agent_lightning/objects.h"
#include "gateway/agent_lightning/paths.h"
#include "gateway/agent_lightning/query.h"
#include "gateway/agent_lightning/records.h"

namespace corisco::gateway::lightning {
namespace {
AttemptKey key(std::uint64_t rollout, std::uint32_t attempt = 1) { return {RolloutId{rollout}, attempt}; }

TEST(LightningPaths, EachRouteOfTheApi) {
  const auto kind = [](const char* path) { return gateway::find_route(path).kind; };
  EXPECT_EQ(kind("/api/rollouts?state_in=queuing"), RouteKind::lightning_rollouts);
  EXPECT_EQ(kind("/api/rollouts/terminal?after=3"), RouteKind::lightning_terminal_rollouts);
  EXPECT_EQ(kind("/api/rollouts/0f3a"), RouteKind::lightning_rollout);
  EXPECT_EQ(kind("/api/rollouts/0f3a/events"), RouteKind::lightning_rollout_events);
  EXPECT_EQ(kind("/api/rollouts/0f3a/attempt/0/events"), RouteKind::lightning_attempt_events);
  EXPECT_EQ(kind("/api/models"), RouteKind::lightning_models);
  EXPECT_EQ(kind("/proxy/pause"), RouteKind::lightning_pause);
  EXPECT_EQ(kind("/proxy/state"), RouteKind::lightning_state);
  for (const auto* path : {"/api/rollouts/", "/api/rollouts/a%2Fb", "/api/rollouts/a/b", "/api/rollouts/a/attempt/0",
                           "/api", "/proxy/stop", "/api/rollouts/a/attempt/0/events/1"})
    EXPECT_EQ(kind(path), RouteKind::unknown) << path;
  EXPECT_TRUE(allows_method(RouteKind::lightning_rollout, "DELETE"));
  EXPECT_TRUE(allows_method(RouteKind::lightning_rollout, "PATCH"));
  EXPECT_FALSE(allows_method(RouteKind::lightning_rollout, "POST"));
  EXPECT_FALSE(allows_method(RouteKind::lightning_rollout, ""));
  EXPECT_FALSE(allows_method(RouteKind::lightning_pause, "GET"));
}

TEST(LightningPaths, TheModelUnderAProxyPath) {
  const auto route = gateway::find_route("/proxy/rollout/ab-1/attempt/0/mode/val/openai/v1/chat/completions?x");
  EXPECT_EQ(route.kind, RouteKind::chat_completions);
  EXPECT_FALSE(route.attempt);
  ASSERT_TRUE(route.lightning);
  EXPECT_EQ(route.lightning->rollout, "ab-1");
  EXPECT_EQ(route.lightning->attempt, "0");
  EXPECT_EQ(route.lightning->mode, "val");
  const std::string train = "/proxy/rollout/7/attempt/2/mode/train/openai/v1/";
  for (const auto* rest : {"completions", "responses", "messages", "models", "messages/count_tokens"})
    EXPECT_TRUE(is_model_route(gateway::find_route(train + rest).kind)) << rest;
  for (const auto* path :
       {"/proxy/rollout/7/attempt/0/mode/test/openai/v1/models", "/proxy/rollout/7/attempt/0/mode/val/v1/models",
        "/proxy/rollout/7/attempt/0/openai/v1/models", "/proxy/rollout/a/b/attempt/0/mode/val/openai/v1/models",
        "/proxy/rollout/7/attempt/0/mode/val/openai/v1/metrics"})
    EXPECT_EQ(gateway::find_route(path).kind, RouteKind::unknown) << path;
}

TEST(LightningQuery, NamesRepeatAndValuesAreDecoded) {
  const auto query = query_of("/api/rollouts?state_in=queuing&state_in=run%6Eing&limit=50&flag&a=b+c");
  EXPECT_EQ(all_of(query, "state_in"), (std::vector<std::string>{"queuing", "running"}));
  EXPECT_EQ(number_of(query, "limit", 500), 50U);
  EXPECT_EQ(number_of(query, "after", 7), 7U);
  EXPECT_EQ(number_of(query, "flag", 7), std::nullopt);
  EXPECT_EQ(number_of(query, "a", 7), std::nullopt);
  EXPECT_EQ(one_of(query, "a"), "b c");
  EXPECT_TRUE(query_of("/api/rollouts").empty());
}

TEST(LightningRecords, EachAttemptIsARolloutOfItsOwn) {
  Records records;
  EXPECT_EQ(records.name_of(key(7)), "7");
  EXPECT_EQ(records.name_of(key(7, 2)), "7-2");
  EXPECT_EQ(records.resolve("7"), key(7));
  EXPECT_EQ(records.resolve("7-2"), key(7, 2));
  EXPECT_EQ(records.resolve("7", "2"), key(7, 2)) << "under the daemon's own number of it";
  EXPECT_EQ(records.resolve("7-2", "2"), key(7, 2));
  for (const auto* name : {"", "0", "07", "7-1", "7-", "7-02", "a", "7x", "99999999999999999999"})
    EXPECT_EQ(records.resolve(name), std::nullopt) << name;
  EXPECT_EQ(records.resolve("7", "x"), std::nullopt);
  EXPECT_EQ(records.resolve("7-2", "3"), std::nullopt);
}

TEST(LightningRecords, CallersNamesAreKeptUntilForgotten) {
  for (const auto* name : {"0f3a", "my_run.1-b"}) EXPECT_TRUE(Records::is_free_form(name)) << name;
  for (const auto* name : {"", "7", "7-2", "a/b", "terminal", "a b"}) EXPECT_FALSE(Records::is_free_form(name)) << name;
  Records records;
  Record record;
  record.name = "mine";
  records.add(key(9), record);
  EXPECT_EQ(records.resolve("mine"), key(9));
  EXPECT_EQ(records.name_of(key(9)), "mine");
  records.forget(key(9));
  EXPECT_EQ(records.resolve("mine"), std::nullopt);
  EXPECT_EQ(records.name_of(key(9)), "9");
}

TEST(LightningRecords, RoomIsBoundedAndWhatTheDaemonForgotMakesRoom) {
  Records records({2, 100});
  const auto nobody = [](AttemptKey) { return false; };
  const auto everybody = [](AttemptKey) { return true; };
  Record record;
  record.bytes = 60;
  records.add(key(1), record);
  EXPECT_TRUE(records.take_room(key(1), 40));
  EXPECT_FALSE(records.take_room(key(1), 1));
  EXPECT_FALSE(records.make_room(1, 1, everybody));
  EXPECT_TRUE(records.make_room(1, 1, nobody));
  EXPECT_EQ(records.find(key(1)), nullptr);
  records.at(key(2));
  records.at(key(3));
  EXPECT_FALSE(records.make_room(1, 0, everybody));
  EXPECT_FALSE(records.take_room(key(4), 0));
  EXPECT_TRUE(records.make_room(1, 0, [](AttemptKey one) { return one == key(3); }));
  EXPECT_NE(records.find(key(3)), nullptr);
}

TEST(LightningObjects, OutcomesBecomeTheirFourStates) {
  RolloutStatus status;
  EXPECT_STREQ(state_of(status), "queuing");
  status.state = RolloutState::running;
  EXPECT_STREQ(state_of(status), "running");
  status.state = RolloutState::grading;
  EXPECT_STREQ(state_of(status), "running") << "its reward is not there yet";
  status.state = RolloutState::finished;
  for (const auto outcome : {Outcome::completed, Outcome::truncated, Outcome::no_reward, Outcome::grader_failed}) {
    status.outcome = outcome;
    EXPECT_STREQ(state_of(status), "succeeded") << to_string(outcome);
  }
  for (const auto outcome : {Outcome::timed_out, Outcome::harness_crashed, Outcome::spawn_failed, Outcome::cancelled}) {
    status.outcome = outcome;
    EXPECT_STREQ(state_of(status), "failed") << to_string(outcome);
  }
}

TEST(LightningObjects, ARolloutOfTheRunBringsItsControllersConfigInItsTask) {
  RolloutStatus status;
  status.attempt = key(7);
  status.mode = Mode::train;
  status.task_json = R"({"question": "1+1", "agl_config": {"local": {"agent_class": "a:B"}, "timeout_seconds": 60}})";
  config::Config config;
  config.rollouts.seconds_max = 600;
  auto object = rollout_object(status, nullptr, "7", config);
  EXPECT_EQ(object["rollout_id"], "7");
  EXPECT_EQ(object["is_train"], true);
  EXPECT_EQ(object["input"]["question"], "1+1");
  EXPECT_EQ(object["config"]["local"]["agent_class"], "a:B");
  EXPECT_EQ(object["config"]["timeout_seconds"], 60);
  EXPECT_TRUE(object["config"]["k8s"].is_null());
  EXPECT_TRUE(object["status"]["last_attempt_id"].is_null());
  EXPECT_EQ(object["status"]["version"], 1);
  status.task_json = "{}";
  object = rollout_object(status, nullptr, "7", config);
  EXPECT_EQ(object["config"]["timeout_seconds"], 600) << "the daemon's own limit, below their default";
}

TEST(LightningObjects, ACallGivesItsExactTokens) {
  Call call;
  call.prompt_ids = {1, 2};
  call.tokens = {{3, -0.5F, -0.25F, PolicyVersion{4}}, {5, -1.5F, -1.25F, PolicyVersion{5}}};
  call.request_json = R"([{"role": "user", "content": "hi"}])";
  call.reply_text = "yo";
  const auto whole = call_event(call, "7", {"tiny", "http://h/v1"}, EventView::whole)["data"];
  EXPECT_EQ(whole["model_version"], 4);
  EXPECT_EQ(whole["request"]["messages"][0]["content"], "hi");
  EXPECT_EQ(whole["response"]["prompt_token_ids"], Json({1, 2}));
  EXPECT_EQ(whole["response"]["choices"][0]["token_ids"], Json({3, 5}));
  EXPECT_EQ(whole["response"]["choices"][0]["message"]["content"], "yo");
  EXPECT_EQ(whole["usage"]["total_tokens"], 4);
  EXPECT_EQ(whole["status"], "ok");
  const auto triplet = call_event(call, "7", {"tiny", "http://h/v1"}, EventView::triplet)["data"];
  EXPECT_EQ(triplet["response_token_ids"], Json({3, 5}));
  EXPECT_EQ(triplet["response_log_probs"], Json({-0.5, -1.5}));
  EXPECT_EQ(triplet["server"]["version"], 4);
  EXPECT_FALSE(triplet.contains("request"));
}
}  // namespace
}  // namespace corisco::gateway::lightning
