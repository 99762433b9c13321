// What a harness asks beside its task is served and recorded, and not trained unless the config says so.
#include "corisco/base/json.h"
#include "gateway/server_fixture.h"

namespace corisco::gateway::fakes {
namespace {
using nlohmann::json;

struct SideCallTest : ServerTest {
  static std::string request(const std::string& text, bool has_tools, const std::string& key) {
    json body = {{"messages", {{{"role", "user"}, {"content", text}}}}};
    if (has_tools) body["tools"] = {{{"type", "function"}, {"function", {{"name", "ls"}}}}};
    return post("/v1/chat/completions", json_text(body), key);
  }
  void finish(std::uint64_t sequence) {
    on_io([this, sequence] { generator.give(RequestId{sequence}, {'o', kEnd}, FinishReason::stop); return 0; });
  }
  bool wait_for_sequences(std::size_t count) {
    return eventually([this, count] { return generator.requests.size() == count; });
  }
  bool is_trained(std::size_t call) { return on_io([this, call] { return sink.calls.at(call).is_trainable; }); }

  // A title is asked for while the first turn is under way, a summary after it.
  void run_turns() {
    start();
    generator.is_manual = true;
    const auto key = open_attempt(1);
    RawClient title(port), turn(port), summary(port);
    title.send(request("a title, please", false, key));
    ASSERT_TRUE(wait_for_sequences(1));
    turn.send(request("the task", true, key));
    ASSERT_TRUE(wait_for_sequences(2));
    finish(1);
    EXPECT_EQ(title.read_reply().status, 200);
    finish(2);
    EXPECT_EQ(turn.read_reply().status, 200);
    summary.send(request("sum it up", false, key));
    ASSERT_TRUE(wait_for_sequences(3));
    finish(3);
    EXPECT_EQ(summary.read_reply().status, 200);
  }
};

TEST_F(SideCallTest, IsRecordedAndNotTrained) {
  ASSERT_NO_FATAL_FAILURE(run_turns());
  EXPECT_FALSE(is_trained(0));
  EXPECT_EQ(on_io([this] { return sink.calls.at(0).state; }), CallState::side);
  EXPECT_EQ(on_io([this] { return sink.calls.at(1).state; }), CallState::used);
  EXPECT_TRUE(is_trained(1));
  EXPECT_TRUE(is_trained(2));            // it continues nothing, but came after the first turn
}

TEST_F(SideCallTest, IsTrainedIfTheConfigSaysSo) {
  config.gateway.train_side_calls = true;
  ASSERT_NO_FATAL_FAILURE(run_turns());
  EXPECT_TRUE(is_trained(0));
}

// Answered before the first turn came: known as what it was when that comes.
struct LateSideCallTest : SideCallTest {
  void ask_first(const std::string& text, const std::string& reply, const std::string& key) {
    generator.reply = reply;
    RawClient client(port);
    client.send(request(text, false, key));
    ASSERT_EQ(client.read_reply().status, 200);
  }
  std::map<CallId, CallState> states_after(const std::string& task, const std::string& key) {
    RawClient client(port);
    client.send(request(task, true, key));
    EXPECT_EQ(client.read_reply().status, 200);
    return on_io([this] { return sink.states; });
  }
  using States = std::map<CallId, CallState>;
};

TEST_F(LateSideCallTest, ATitleBeforeTheFirstTurn) {
  start();
  const auto key = open_attempt(1);
  ASSERT_NO_FATAL_FAILURE(ask_first("a title for: list the files", "Listing", key));
  ASSERT_NO_FATAL_FAILURE(ask_first("a topic for: list the files", "list the files", key));
  EXPECT_TRUE(on_io([this] { return sink.states.empty(); }));
  const States both = {{CallId{1}, CallState::side}, {CallId{2}, CallState::side}};
  EXPECT_EQ(states_after("list the files", key), both) << "that a title repeats the task makes it no part of it";
  EXPECT_DOUBLE_EQ(metrics.counter("corisco_gateway_side_calls_total").value(), 2);
}

TEST_F(LateSideCallTest, AReplyThatTheTurnUsesIsWork) {
  start();
  const auto key = open_attempt(1);
  ASSERT_NO_FATAL_FAILURE(ask_first("make a plan", "first look, then leap ", key));
  EXPECT_EQ(states_after("the plan: first look, then leap. Go!", key), States());
}

TEST_F(LateSideCallTest, AConversationThatGoesOnIsWork) {
  start();
  const auto key = open_attempt(1);
  ASSERT_NO_FATAL_FAILURE(ask_first("what is it?", "hello", key));
  RawClient client(port);
  const json messages = {{{"role", "user"}, {"content", "what is it?"}},
                         {{"role", "assistant"}, {"content", "hello"}},
                         {{"role", "user"}, {"content", "and?"}}};
  client.send(post("/v1/chat/completions", json_text(json{{"messages", messages}}), key));
  ASSERT_EQ(client.read_reply().status, 200);
  EXPECT_EQ(states_after("the task", key), States());
}

TEST_F(LateSideCallTest, AHarnessThatAsksOftenWithoutToolsWorksWithoutThem) {
  start();
  const auto key = open_attempt(1);
  for (int i = 0; i < 9; ++i) ASSERT_NO_FATAL_FAILURE(ask_first(cat("part ", i), "done", key));
  EXPECT_EQ(states_after("the task", key), States());
}

TEST_F(LateSideCallTest, IsTrainedIfTheConfigSaysSo) {
  config.gateway.train_side_calls = true;
  start();
  const auto key = open_attempt(1);
  ASSERT_NO_FATAL_FAILURE(ask_first("a title", "Listing", key));
  EXPECT_EQ(states_after("list the files", key), States());
}

TEST_F(SideCallTest, OfAHarnessWithoutToolsIsNone) {
  start();
  const auto key = open_attempt(1);
  RawClient one(port);
  one.send(request("one", false, key));
  EXPECT_EQ(one.read_reply().status, 200);
  EXPECT_TRUE(is_trained(0));
}
}  // namespace
}  // namespace corisco::gateway::fakes
