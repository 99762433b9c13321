// Frozen names, and attempts that use several names without saying which is the policy.
#include "corisco/base/json.h"
#include "gateway/model_use.h"
#include "gateway/server_fixture.h"

namespace corisco::gateway::fakes {
namespace {
using nlohmann::json;
using States = std::map<CallId, CallState>;

struct ModelRolesTest : ServerTest {
  RawReply ask_as(const std::string& model, const std::string& text, const std::string& key,
                  json more = json::object()) {
    more["messages"] = {{{"role", "user"}, {"content", text}}};
    if (!model.empty()) more["model"] = model;
    return chat(more, key);
  }
  static json with_tools() { return {{"tools", {{{"type", "function"}, {"function", {{"name", "ls"}}}}}}}; }
  std::vector<Call> calls() { return on_io([this] { return sink.calls; }); }
  States states() { return on_io([this] { return sink.states; }); }
};

TEST_F(ModelRolesTest, AFrozenNameIsServedRecordedAndNotTrained) {
  config.gateway.frozen_names = {"judge"};
  start();
  const auto key = open_attempt(1);
  EXPECT_EQ(ask_as("judge", "good?", key, {{"temperature", 0.5}, {"top_k", 3}, {"max_tokens", 80}}).status, 200);
  EXPECT_EQ(ask_as("main", "work", key, {{"temperature", 0.5}}).status, 200);
  ASSERT_EQ(calls().size(), 2U);
  EXPECT_EQ(calls()[0].state, CallState::frozen);
  EXPECT_FALSE(calls()[0].is_trainable);
  EXPECT_EQ(calls()[1].state, CallState::used);
  EXPECT_TRUE(calls()[1].is_trainable);
  const auto requests = on_io([this] { return generator.requests; });
  EXPECT_FLOAT_EQ(requests[0].sampling.temperature, 0.5F) << "the client's";
  EXPECT_EQ(requests[0].sampling.top_k, 3U);
  EXPECT_EQ(requests[0].sampling.max_tokens, 80U);
  EXPECT_FLOAT_EQ(requests[1].sampling.temperature, 0.9F) << "the run's";
  EXPECT_TRUE(states().empty());
  const auto list = parse_json(ask(get("/v1/models")).body)["data"];
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[1]["id"], "judge");
}

TEST_F(ModelRolesTest, AFrozenConversationIsNoneOfThePolicys) {
  config.gateway.frozen_names = {"judge"};
  start();
  const auto key = open_attempt(1);
  ask_as("judge", "same words", key);
  ask_as("main", "same words", key);
  const json turns = {{{"role", "user"}, {"content", "same words"}},
                      {{"role", "assistant"}, {"content", "hello"}},
                      {{"role", "user"}, {"content", "more"}}};
  chat({{"model", "judge"}, {"messages", turns}}, key);
  const auto all = calls();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].split, SplitCause::first) << "nothing of the policy's came before";
  EXPECT_EQ(all[2].split, SplitCause::none) << "it goes on from the frozen reply";
  EXPECT_EQ(all[2].base, all[0].id);
  const auto requests = on_io([this] { return generator.requests; });
  EXPECT_EQ(requests[0].prompt_ids, requests[1].prompt_ids);
  EXPECT_NE(requests[0].sampling.key, requests[1].sampling.key);
  EXPECT_DOUBLE_EQ(metrics.counter("corisco_gateway_continued_calls_total", {"continued"}).value(), 0);
}

TEST_F(ModelRolesTest, SeveralUndeclaredNamesTrainNothingFromTheFirstCallOn) {
  start();
  const auto key = open_attempt(1);
  ask_as("main", "one", key);
  EXPECT_TRUE(states().empty());
  ask_as("", "no name tells nothing", key);
  EXPECT_TRUE(states().empty());
  ask_as("helper", "two", key);
  const auto several = CallState::several_models;
  EXPECT_EQ(states(), (States{{CallId{1}, several}, {CallId{2}, several}, {CallId{3}, several}}));
  ask_as("main", "three", key);
  EXPECT_EQ(states().at(CallId{4}), several);
}

TEST_F(ModelRolesTest, OneNameDeclaredFrozenLeavesOne) {
  config.gateway.frozen_names = {"helper"};
  start();
  const auto key = open_attempt(1);
  ask_as("main", "one", key);
  ask_as("helper", "two", key);
  EXPECT_TRUE(states().empty());
}

TEST_F(ModelRolesTest, NamesDeclaredAsThePolicysAreOne) {
  config.gateway.model_names = {"main", "small"};
  start();
  const auto key = open_attempt(1);
  ask_as("main", "one", key);
  ask_as("small", "two", key);
  EXPECT_TRUE(states().empty());
}

TEST_F(ModelRolesTest, EachAttemptAnswersForItself) {
  start();
  const auto one = open_attempt(1), two = open_attempt(2);
  ask_as("main", "one", one);
  ask_as("other", "two", two);
  ask_as("other", "three", open_attempt(3, Mode::val));
  EXPECT_TRUE(states().empty());
}

// Claude Code asks its small model for a title and a topic before the task's first turn.
TEST_F(ModelRolesTest, ATitleUnderAnotherNameIsBesideTheTask) {
  start();
  const auto key = open_attempt(1);
  ask_as("haiku", "a title", key);
  ask_as("haiku", "a topic", key);
  ask_as("sonnet", "the task", key, with_tools());
  EXPECT_EQ(states(), (States{{CallId{1}, CallState::side}, {CallId{2}, CallState::side}}));
  ask_as("sonnet", "the task goes on", key, with_tools());
  EXPECT_EQ(states().size(), 2U);
}

TEST_F(ModelRolesTest, WhatTurnsOutToBeBesideTheTaskIsTakenBack) {
  start();
  const auto key = open_attempt(1);
  ask_as("haiku", "a title", key);
  ask_as("mini", "a topic", key);        // two names, and no task yet
  EXPECT_EQ(states().at(CallId{1}), CallState::several_models);
  ask_as("sonnet", "the task", key, with_tools());
  EXPECT_EQ(states(), (States{{CallId{1}, CallState::side}, {CallId{2}, CallState::side}}));
}

TEST(ModelUseTest, TheAnswerChangesBothWays) {
  ModelUse use;
  use.note(CallId{1}, "a");
  use.note(CallId{2}, "");
  EXPECT_TRUE(use.settle().empty());
  use.note(CallId{3}, "b");
  EXPECT_EQ(use.names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(use.settle(), (std::vector<CallId>{CallId{1}, CallId{2}, CallId{3}}));
  EXPECT_TRUE(use.settle().empty());
  use.note(CallId{4}, "b");
  EXPECT_EQ(use.settle(), std::vector<CallId>{CallId{4}});
  use.forget(CallId{3});
  EXPECT_TRUE(use.has_several());
  use.forget_name(CallId{4});
  EXPECT_FALSE(use.has_several());
  EXPECT_EQ(use.settle(), (std::vector<CallId>{CallId{1}, CallId{2}, CallId{4}}));
}
}  // namespace
}  // namespace corisco::gateway::fakes
