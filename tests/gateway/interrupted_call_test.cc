// Calls that do not run straight through: held at the gate, left by their client, closed with
// their attempt, stopped with the server.
#include "corisco/base/json.h"
#include "gateway/server_fixture.h"

namespace corisco::gateway::fakes {
namespace {
using nlohmann::json;
struct InterruptedCallTest : ServerTest {
  std::string stream_request(const std::string& key = {}) {
    return post("/v1/chat/completions", json_text(hi({{"stream", true}})), key);
  }
  void begin_stream(RawClient& client, const std::string& key = {}) {
    client.send(stream_request(key));
    ASSERT_TRUE(client.wait_for("assistant"));
  }
};

TEST_F(InterruptedCallTest, AClientThatLeavesIsNoticedAndItsCallKept) {
  start();
  generator.is_manual = true;
  const auto key = open_attempt(1);
  RawClient client(port);
  ASSERT_NO_FATAL_FAILURE(begin_stream(client, key));
  on_io([this] { generator.give(RequestId{1}, {'a', 'b'}, {}); return 0; });
  ASSERT_TRUE(client.wait_for("ab"));
  client.close();
  ASSERT_TRUE(eventually([this] { return generator.cancelled.size() == 1; }));
  const auto call = on_io([this] { return sink.calls.at(0); });
  EXPECT_EQ(call.tokens.size(), 2U);
  EXPECT_EQ(call.finish, FinishReason::aborted);
  EXPECT_FALSE(on_io([this] { return sink.delivered.at(CallId{1}); }));
  EXPECT_EQ(on_io([this] { return attempts.summary({RolloutId{1}, 1}).num_delivered; }), 0U);
  EXPECT_EQ(on_io([this] { return gate.num_inside(); }), 0U);
}

TEST_F(InterruptedCallTest, AReplyThatIsSentBackHasArrived) {
  start();
  generator.is_manual = true;
  const auto key = open_attempt(1);
  RawClient client(port);
  ASSERT_NO_FATAL_FAILURE(begin_stream(client, key));
  on_io([this] { generator.give(RequestId{1}, {'a', 'b', kEnd}, FinishReason::stop); return 0; });
  ASSERT_TRUE(client.wait_for("ab"));
  client.close();
  ASSERT_TRUE(eventually([this] { return sink.delivered.contains(CallId{1}); }));
  on_io([this] { return sink.delivered[CallId{1}] = false; });  // as if the last bytes had been lost
  RawClient again(port);
  auto messages = hi()["messages"];
  messages.push_back({{"role", "assistant"}, {"content", "ab"}});
  messages.push_back({{"role", "user"}, {"content", "on"}});
  again.send(post("/v1/chat/completions", json_text(json{{"messages", messages}}), key));
  EXPECT_TRUE(eventually([this] { return generator.requests.size() == 2; }));
  EXPECT_TRUE(on_io([this] { return sink.delivered.at(CallId{1}); }));
}

TEST_F(InterruptedCallTest, ASuspendedReplyWaitsForTheDaemon) {
  start();
  generator.is_manual = true;
  const auto key = open_attempt(1);
  RawClient client(port);
  ASSERT_NO_FATAL_FAILURE(begin_stream(client, key));
  on_io([this] { generator.give(RequestId{1}, {'a'}, {}); return 0; });
  ASSERT_TRUE(client.wait_for("a\""));
  const auto held = [this] { return attempts.summary({RolloutId{1}, 1}).held_seconds; };
  const double before = on_io(held);
  on_io([this] { attempts.set_suspended(true); return 0; });
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  on_io([this] { attempts.set_suspended(false); return 0; });
  const double after = on_io(held);
  EXPECT_GT(after, before + 0.05);
  EXPECT_EQ(on_io(held), after);
  on_io([this] { generator.give(RequestId{1}, {kEnd}, FinishReason::stop); return 0; });
  EXPECT_TRUE(client.wait_for("[DONE]"));
}

TEST_F(InterruptedCallTest, AClientThatLeavesBeforeATokenLeavesNoRecord) {
  start();
  generator.is_manual = true;
  RawClient client(port);
  client.send(post("/v1/chat/completions", json_text(hi())));
  ASSERT_TRUE(eventually([this] { return generator.requests.size() == 1; }));
  client.close();
  ASSERT_TRUE(eventually([this] { return generator.cancelled.size() == 1; }));
  EXPECT_TRUE(on_io([this] { return sink.calls.empty(); }));
}

TEST_F(InterruptedCallTest, HeldAtTheGateInSilence) {
  start();
  on_io([this] { gate.shut(); return 0; });
  const auto key = open_attempt(1);
  RawClient client(port);
  client.send(post("/v1/chat/completions", json_text(hi()), key));
  ASSERT_TRUE(eventually([this] { return gate.num_waiting() == 1; }));
  EXPECT_FALSE(client.receive(100));
  EXPECT_GT(on_io([this] { return attempts.summary({RolloutId{1}, 1}).held_seconds; }), 0.05);
  on_io([this] { gate.open(); return 0; });
  EXPECT_EQ(client.read_reply().status, 200);
  const auto held = on_io([this] { return attempts.summary({RolloutId{1}, 1}).held_seconds; });
  EXPECT_GT(held, 0.05);
  EXPECT_EQ(held, on_io([this] { return attempts.summary({RolloutId{1}, 1}).held_seconds; }));
}

TEST_F(InterruptedCallTest, AHeldClientThatLeavesFreesItsPlace) {
  start();
  on_io([this] { gate.shut(); return 0; });
  RawClient client(port);
  client.send(post("/v1/chat/completions", json_text(hi())));
  ASSERT_TRUE(eventually([this] { return gate.num_waiting() == 1; }));
  client.close();
  EXPECT_TRUE(eventually([this] { return gate.num_waiting() == 0; }));
  EXPECT_TRUE(on_io([this] { return generator.requests.empty(); }));
}

TEST_F(InterruptedCallTest, ALongHoldShowsSignsOfLife) {
  silent_hold = std::chrono::milliseconds(50);
  start();
  on_io([this] { gate.shut(); return 0; });
  RawClient stream(port), whole(port);
  stream.send(stream_request());
  whole.send(post("/v1/chat/completions", json_text(hi())));
  ASSERT_TRUE(stream.wait_for("\"delta\":{}"));
  ASSERT_TRUE(whole.wait_for("1\r\n \r\n"));
  on_io([this] { gate.open(); return 0; });
  const auto chunks = events(stream.read_reply().body);
  EXPECT_EQ(chunks.front()["choices"][0]["delta"], json::object());
  EXPECT_EQ(chunks.back(), "[DONE]");
  EXPECT_EQ(parse_json(whole.read_reply().body)["choices"][0]["message"]["content"], "hello");
}

// OpenAI's and Anthropic's clients say how long they wait; without the header this one would hear nothing for 100 s.
TEST_F(InterruptedCallTest, AnImpatientClientIsToldInTime) {
  start();
  on_io([this] { gate.shut(); return 0; });
  RawClient impatient(port), patient(port);
  auto request = post("/v1/chat/completions", json_text(hi()));
  patient.send(request);
  request.insert(request.find("Content-Length"), "x-stainless-read-timeout: 1.5\r\n");
  impatient.send(request);
  ASSERT_TRUE(impatient.wait_for("1\r\n \r\n1\r\n \r\n")) << "and told again within the same time";
  EXPECT_FALSE(patient.receive(50));
  on_io([this] { gate.open(); return 0; });
  EXPECT_EQ(parse_json(impatient.read_reply().body)["choices"][0]["message"]["content"], "hello");
  EXPECT_EQ(patient.read_reply().status, 200);
}

TEST_F(InterruptedCallTest, AClosedGateIsToldAsUnavailable) {
  start();
  on_io([this] { gate.shut(); return 0; });
  RawClient client(port);
  client.send(post("/v1/chat/completions", json_text(hi())));
  ASSERT_TRUE(eventually([this] { return gate.num_waiting() == 1; }));
  on_io([this] { gate.close(); return 0; });
  const auto reply = client.read_reply();
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(reply.head.find("Retry-After: "), std::string::npos);
}

// A sign of life spends the status: a body that ended well would pass for the reply.
TEST_F(InterruptedCallTest, AFailureAfterALongHoldClosesAWholeReply) {
  silent_hold = std::chrono::milliseconds(50);
  start();
  on_io([this] { gate.shut(); return 0; });
  RawClient client(port);
  client.send(post("/v1/chat/completions", json_text(hi())));
  ASSERT_TRUE(client.wait_for("1\r\n \r\n"));
  on_io([this] { gate.close(); return 0; });
  const auto reply = client.read_reply();
  EXPECT_EQ(reply.status, 200);
  EXPECT_FALSE(reply.is_whole);
  EXPECT_EQ(reply.body.find_first_not_of(' '), std::string::npos) << reply.body;
  EXPECT_TRUE(client.is_closed_by_peer());
}

TEST_F(InterruptedCallTest, ClosingAnAttemptEndsItsCallsAndItsKey) {
  start();
  generator.is_manual = true;
  const auto key = open_attempt(1);
  RawClient client(port);
  client.send(post("/v1/chat/completions", json_text(hi()), key));
  ASSERT_TRUE(eventually([this] { return generator.requests.size() == 1; }));
  on_io([this] { attempts.close({RolloutId{1}, 1}); return 0; });
  EXPECT_EQ(client.read_reply().status, 409);
  EXPECT_EQ(on_io([this] { return generator.cancelled.size(); }), 1U);
  EXPECT_EQ(chat(hi(), key).status, 401);
  EXPECT_EQ(ask(post("/rollout/1/attempt/1/v1/chat/completions", json_text(hi()), key)).status, 409);
}

TEST_F(InterruptedCallTest, AReplyIsOutOfTheGateBeforeItIsWritten) {
  start();
  generator.is_manual = true;
  RawClient client(port);
  ASSERT_NO_FATAL_FAILURE(begin_stream(client));
  const auto inside = on_io([this] {
    const auto before = gate.num_inside();
    generator.give(RequestId{1}, {'a', kEnd}, FinishReason::stop);
    return std::pair(before, gate.num_inside());
  });
  EXPECT_EQ(inside, std::pair(std::size_t{1}, std::size_t{0}));
  EXPECT_TRUE(client.wait_for("[DONE]"));
}

// Else a kill could lose a call that its harness has in full.
TEST_F(InterruptedCallTest, TheLastByteWaitsForTheRecord) {
  sink.is_slow = true;
  generator.is_manual = true;
  start();
  RawClient whole(port), stream(port);
  whole.send(post("/v1/chat/completions", json_text(hi())));
  ASSERT_TRUE(eventually([this] { return generator.requests.size() == 1; }));
  ASSERT_NO_FATAL_FAILURE(begin_stream(stream));
  on_io([this] {
    for (const std::uint64_t id : {1, 2}) generator.give(RequestId{id}, {'a', kEnd}, FinishReason::stop);
    return 0;
  });
  ASSERT_TRUE(eventually([this] { return sink.calls.size() == 2; }));
  EXPECT_FALSE(whole.receive(50));
  while (stream.receive(50)) {
  }
  for (const char* last : {"\"finish_reason\":\"stop\"", "[DONE]"})
    EXPECT_EQ(stream.bytes().find(last), std::string::npos) << stream.bytes();
  on_io([this] { return sink.is_slow = false; });
  EXPECT_EQ(whole.read_reply().status, 200);
  EXPECT_TRUE(stream.wait_for("\"finish_reason\":\"stop\"") && stream.wait_for("[DONE]"));
}

TEST_F(InterruptedCallTest, StoppingCutsWhatRunsAndRecordsIt) {
  start();
  generator.is_manual = true;
  RawClient busy(port), idle(port);
  ASSERT_NO_FATAL_FAILURE(begin_stream(busy));
  on_io([this] { generator.give(RequestId{1}, {'a'}, {}); return 0; });
  ASSERT_TRUE(busy.wait_for("a\""));
  on_io([this] { server->stop(); return 0; });
  EXPECT_TRUE(busy.is_closed_by_peer());
  const auto told = busy.read_reply();
  EXPECT_TRUE(told.is_whole);
  const auto chunks = events(told.body);
  ASSERT_GT(chunks.size(), 2U);
  EXPECT_EQ(chunks[chunks.size() - 2]["error"]["code"], "unavailable");
  EXPECT_EQ(chunks.back(), "[DONE]");
  EXPECT_TRUE(idle.is_closed_by_peer());
  EXPECT_TRUE(eventually([this] { return sink.calls.size() == 1; }));
  EXPECT_FALSE(on_io([this] { return sink.delivered.at(CallId{1}); }));
}

TEST_F(InterruptedCallTest, StoppingTellsWhoIsHeld) {
  start();
  on_io([this] { gate.shut(); return 0; });
  RawClient chat(port), messages(port);
  chat.send(stream_request());
  messages.send(post("/v1/messages", json_text(hi())));
  ASSERT_TRUE(eventually([this] { return gate.num_waiting() == 2; }));
  on_io([this] { server->stop(); return 0; });
  const auto told = chat.read_reply(), told_too = messages.read_reply();
  EXPECT_EQ(told.status, 503);
  EXPECT_NE(told.head.find("Retry-After: 5"), std::string::npos);
  EXPECT_EQ(told_too.status, 529) << "Anthropic's";
  EXPECT_EQ(parse_json(told_too.body)["type"], "error");
}
}  // namespace
}  // namespace corisco::gateway::fakes
