// What an attempt may ask for: calls in all, after which it is told to stop, and calls in a minute,
// beyond which they wait while its rollout's time runs.
#include <algorithm>

#include "corisco/base/json.h"
#include "gateway/attempt_state.h"
#include "gateway/call_rate.h"
#include "gateway/server_fixture.h"

namespace corisco::gateway::fakes {
namespace {
using nlohmann::json;
constexpr const char* kStop = "The rollout's call limit is reached; stop here.";

TimePoint at(double seconds) {
  return TimePoint(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)));
}

TEST(CallRate, AMinuteHasRoomForSoMany) {
  CallRate rate;
  EXPECT_EQ(rate.reserve(at(100), 2), at(100));
  EXPECT_EQ(rate.reserve(at(110), 2), at(110));
  EXPECT_EQ(rate.reserve(at(120), 2), at(160));   // a minute after the first
  EXPECT_EQ(rate.reserve(at(121), 2), at(170));   // and after the second
  EXPECT_EQ(rate.reserve(at(122), 2), at(220));   // and after the third, which waits itself
  EXPECT_EQ(rate.reserve(at(300), 2), at(300));
}

TEST(CallRate, AFreedPlaceGoesToALaterCall) {
  CallRate rate;
  EXPECT_EQ(rate.reserve(at(0), 1), at(0));
  EXPECT_EQ(rate.reserve(at(1), 1), at(60));
  rate.release(at(60));
  EXPECT_EQ(rate.reserve(at(2), 1), at(60));
  EXPECT_EQ(rate.reserve(at(3), 1), at(120));
}

// However calls come and go, no minute holds more than the cap.
TEST(CallRate, NoWindowHoldsMoreThanTheCap) {
  CallRate rate;
  std::vector<TimePoint> moments;
  double now = 0;
  for (int i = 0; i < 500; ++i) {
    now += (i * 7919 % 13) * 0.5;
    const auto moment = rate.reserve(at(now), 5);
    if (moment > at(now) && i % 3 == 0) rate.release(moment);
    else moments.push_back(moment);
  }
  ASSERT_TRUE(std::is_sorted(moments.begin(), moments.end()));
  for (std::size_t i = 5; i < moments.size(); ++i) EXPECT_GE(moments[i] - moments[i - 5], CallRate::kWindow) << i;
}

struct CallCapsTest : ServerTest {
  CallCapsTest() { config.gateway.calls_per_attempt_max = 2; }
  std::string used_up_key() {
    const auto key = open_attempt(1);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(chat(hi(), key).status, 200);
    return key;
  }
  RawReply message(json body, const std::string& key) {
    body["max_tokens"] = 16;
    return ask(post("/v1/messages", json_text(body), key));
  }
  AttemptSummary summary() {
    return on_io([this] { return attempts.summary({RolloutId{1}, 1}); });
  }
};

TEST_F(CallCapsTest, AfterTheLastCallTheHarnessIsToldToStop) {
  start();
  const auto key = used_up_key();
  const auto reply = chat(hi({{"tools", json::array()}, {"n", 2}}), key);
  ASSERT_EQ(reply.status, 200);
  const auto body = parse_json(reply.body);
  ASSERT_EQ(body["choices"].size(), 2U);
  for (const auto& choice : body["choices"]) {
    EXPECT_EQ(choice["message"]["content"], kStop);
    EXPECT_EQ(choice["finish_reason"], "stop");
    EXPECT_FALSE(choice["message"].contains("tool_calls"));
  }
  EXPECT_EQ(body["usage"]["completion_tokens"], 0);
  EXPECT_EQ(on_io([this] { return sink.calls.size(); }), 2U) << "it is nobody's sample";
  EXPECT_EQ(on_io([this] { return generator.requests.size(); }), 2U);
  const auto seen = summary();
  EXPECT_TRUE(seen.hit_call_cap);
  EXPECT_EQ(seen.num_calls, 2U);
  EXPECT_EQ(seen.num_delivered, 2U);
  EXPECT_DOUBLE_EQ(metrics.counter("corisco_gateway_final_turns_total").value(), 1);
}

TEST_F(CallCapsTest, TheLastWordIsStreamedToo) {
  start();
  const auto key = used_up_key();
  const auto chunks = events(chat(hi({{"stream", true}}), key).body);
  ASSERT_GE(chunks.size(), 4U);
  EXPECT_EQ(chunks[0]["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(chunks[1]["choices"][0]["delta"]["content"], kStop);
  EXPECT_EQ(chunks[2]["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(chunks.back(), "[DONE]");
}

TEST_F(CallCapsTest, AnthropicsClientsAreToldInTheirWords) {
  start();
  const auto key = used_up_key();
  const auto body = parse_json(message(hi(), key).body);
  EXPECT_EQ(body["content"], json({{{"type", "text"}, {"text", kStop}}}));
  EXPECT_EQ(body["stop_reason"], "end_turn");
  const auto stream = message(hi({{"stream", true}}), key).body;
  EXPECT_NE(stream.find(kStop), std::string::npos);
  EXPECT_NE(stream.find("event: message_stop"), std::string::npos);
}

TEST_F(CallCapsTest, WhoDoesNotStopGetsErrors) {
  start();
  const auto key = used_up_key();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(chat(hi(), key).status, 200);
  const auto reply = chat(hi(), key);
  EXPECT_EQ(reply.status, 429);
  EXPECT_EQ(parse_json(reply.body)["error"]["code"], "call_cap_reached");
  EXPECT_NE(reply.head.find("x-should-retry: false"), std::string::npos);
  EXPECT_EQ(reply.head.find("Retry-After"), std::string::npos);
  EXPECT_EQ(message(hi(), key).status, 429);
  EXPECT_EQ(chat(hi(), open_attempt(2)).status, 200) << "another rollout has its own";
}

struct CallRateTest : ServerTest {
  CallRateTest() { config.gateway.calls_per_minute_max = 1; }
  // An attempt whose minute is full for so long.
  std::string busy_key(Duration left) {
    const auto key = open_attempt(1);
    on_io([&] {
      attempts.by_key(key)->rate.reserve(real_clock().now() - CallRate::kWindow + left, 1);
      return 0;
    });
    return key;
  }
};

TEST_F(CallRateTest, ACallWaitsForRoomWhileTheRolloutsTimeRuns) {
  start();
  const auto key = busy_key(std::chrono::milliseconds(300));
  RawClient client(port);
  client.send(post("/v1/chat/completions", json_text(hi()), key));
  EXPECT_FALSE(client.receive(100));
  EXPECT_EQ(on_io([this] { return generator.requests.size(); }), 0U);
  EXPECT_EQ(client.read_reply().status, 200);
  EXPECT_LT(on_io([this] { return attempts.summary({RolloutId{1}, 1}).held_seconds; }), 0.1) << "not held time";
  EXPECT_DOUBLE_EQ(metrics.counter("corisco_gateway_rate_held_calls_total").value(), 1);
}

TEST_F(CallRateTest, SignsOfLifeGoOnAndTheOthersAreNotHeld) {
  silent_hold = std::chrono::milliseconds(20);
  start();
  const auto key = busy_key(std::chrono::milliseconds(500));
  RawClient client(port);
  client.send(post("/v1/chat/completions", json_text(hi({{"stream", true}})), key));
  ASSERT_TRUE(client.wait_for("\"delta\":{}"));
  EXPECT_EQ(chat(hi(), open_attempt(2)).status, 200);
  EXPECT_EQ(chat(hi()).status, 200) << "outside any rollout there is no such cap";
  EXPECT_EQ(events(client.read_reply().body).back(), "[DONE]");
}

TEST_F(CallRateTest, AClientThatLeavesGivesItsPlaceBack) {
  start();
  const auto key = busy_key(std::chrono::milliseconds(800));
  {
    RawClient client(port);
    client.send(post("/v1/chat/completions", json_text(hi()), key));
    ASSERT_TRUE(eventually([&] { return attempts.by_key(key)->running.size() == 1; }));
  }
  ASSERT_TRUE(eventually([&] { return attempts.by_key(key)->running.empty(); }));
  EXPECT_EQ(chat(hi(), key).status, 200);          // within the second, not after a minute more
}

TEST_F(CallRateTest, AClosedAttemptIsNotHeldOn) {
  start();
  const auto key = busy_key(std::chrono::seconds(50));
  RawClient client(port);
  client.send(post("/v1/chat/completions", json_text(hi()), key));
  ASSERT_TRUE(eventually([&] { return attempts.by_key(key)->running.size() == 1; }));
  on_io([this] { attempts.close({RolloutId{1}, 1}); return 0; });
  EXPECT_EQ(client.read_reply().status, 409);
}
}  // namespace
}  // namespace corisco::gateway::fakes
