// Requests that are sent again: each gets the reply that was sampled for it, or one that is sampled in its
// place; never is one reply recorded twice.
#include <memory>

#include "corisco/base/json.h"
#include "gateway/server_fixture.h"

namespace corisco::gateway::fakes {
namespace {
using nlohmann::json;

struct RetryTest : ServerTest {
  RetryTest() { generator.is_manual = true; }

  static std::string request(const json& body, const std::string& key, bool has_marks = false,
                             const std::string& path = "/v1/chat/completions") {
    auto text = post(path, json_text(body), key);
    if (has_marks) text.insert(text.find("Content-Length"), "X-Stainless-Retry-Count: 1\r\n");
    return text;
  }
  bool has_sequences(std::size_t count) {
    return eventually([this, count] { return generator.requests.size() == count; });
  }
  std::size_t num_sequences() { return on_io([this] { return generator.requests.size(); }); }
  std::uint64_t key_of(std::size_t sequence) {
    return on_io([this, sequence] { return generator.requests.at(sequence - 1).sampling.key; });
  }
  void give(std::uint64_t sequence, const std::string& text, std::optional<FinishReason> finish = FinishReason::stop) {
    on_io([&] {
      std::vector<TokenId> ids(text.begin(), text.end());
      if (finish == FinishReason::stop) ids.push_back(kEnd);
      generator.give(RequestId{sequence}, ids, finish);
      return 0;
    });
  }
  // What was sent to the server before this, a closed connection's end included, has been seen.
  void let_the_server_see() { EXPECT_EQ(ask(get("/healthz")).status, 200); }
  std::size_t num_calls() { return on_io([this] { return sink.calls.size(); }); }
  bool is_delivered(std::uint64_t call) {
    return eventually([this, call] { return sink.delivered.contains(CallId{call}) && sink.delivered[CallId{call}]; });
  }
  bool has_state(std::uint64_t call, CallState state) {
    return on_io([&] { return sink.states.contains(CallId{call}) && sink.states[CallId{call}] == state; });
  }
  double retries(const char* result) { return metrics.counter("corisco_gateway_retries_total", {result}).value(); }

  // The reply of the next sequence is recorded whole, and its client gone before the first of its last bytes.
  void leave_whole(const std::string& bytes, const std::string& text) {
    const auto sequence = num_sequences() + 1;
    const auto call = num_calls() + 1;
    RawClient client(port);
    client.send(bytes);
    ASSERT_TRUE(has_sequences(sequence));
    on_io([this] { return sink.is_slow = true; });
    give(sequence, text);
    ASSERT_TRUE(eventually([&] { return sink.calls.size() == call; }));
    client.close();
    let_the_server_see();
    on_io([this] { return sink.is_slow = false; });
    ASSERT_TRUE(eventually([&] { return sink.delivered.contains(CallId{call}); }));
    ASSERT_FALSE(on_io([&] { return sink.delivered[CallId{call}]; }));
  }
  // A client that waits for the reply of the first sequence, and a retry of it that waits too.
  void attach(RawClient& first, RawClient& retry, const std::string& key, const json& body = hi()) {
    first.send(request(body, key));
    ASSERT_TRUE(has_sequences(1));
    retry.send(request(body, key, true));
    let_the_server_see();
    ASSERT_EQ(num_sequences(), 1U);
  }
};

// Its own predecessor never came: a parallel call of the same request keeps its reply to itself.
TEST_F(RetryTest, AMarkedRetryLeavesAParallelCallAloneThatItsClientWaitsFor) {
  start();
  const auto key = open_attempt(1);
  auto waiting = request(hi(), key);
  waiting.insert(waiting.find("Content-Length"), "X-Stainless-Read-Timeout: 600\r\n");
  RawClient parallel(port), retry(port);
  parallel.send(waiting);
  ASSERT_TRUE(has_sequences(1));
  retry.send(request(hi(), key, true));
  ASSERT_TRUE(has_sequences(2));
  give(1, "one");
  give(2, "two");
  EXPECT_NE(parallel.read_reply().body.find("one"), std::string::npos);
  EXPECT_NE(retry.read_reply().body.find("two"), std::string::npos);
  EXPECT_EQ(retries("repeated"), 0);
  EXPECT_EQ(num_calls(), 2U);
}

TEST_F(RetryTest, AReplyThatDidNotArriveIsRepeatedInEveryForm) {
  start();
  struct Format {
    const char* path;
    json body;
  };
  const std::vector<Format> formats = {{"/v1/chat/completions", hi()},
                                       {"/v1/responses", {{"input", "hi"}}},
                                       {"/v1/messages", hi({{"max_tokens", 16}})}};
  std::uint64_t rollout = 0;
  for (const auto& [path, body] : formats) {
    for (const int streams : {0, 1, 2, 3}) {   // the first one, the retry
      SCOPED_TRACE(cat(path, " ", streams));
      const auto key = open_attempt(++rollout);
      auto first = body, again = body;
      first["stream"] = (streams & 1) != 0;
      again["stream"] = (streams & 2) != 0;
      ASSERT_NO_FATAL_FAILURE(leave_whole(request(first, key, false, path), "needle"));
      const auto reply = ask(request(again, key, false, path));
      EXPECT_EQ(reply.status, 200);
      EXPECT_TRUE(reply.is_whole);
      EXPECT_NE(reply.body.find("\"needle\""), std::string::npos) << reply.body;
      EXPECT_EQ(reply.head.find("event-stream") != std::string::npos, (streams & 2) != 0);
      EXPECT_TRUE(is_delivered(rollout));
      EXPECT_EQ(num_sequences(), rollout);
      EXPECT_EQ(num_calls(), rollout);
      const auto summary = on_io([&] { return attempts.summary({RolloutId{rollout}, 1}); });
      EXPECT_EQ(summary.num_delivered, 1U);
      EXPECT_EQ(summary.num_calls, 1U);
    }
  }
  EXPECT_EQ(retries("repeated"), 12);
}

TEST_F(RetryTest, AllChoicesAreRepeated) {
  start();
  const auto key = open_attempt(1);
  const auto bytes = request(hi({{"n", 2}, {"return_token_ids", true}}), key);
  RawClient client(port);
  client.send(bytes);
  ASSERT_TRUE(has_sequences(2));
  give(2, "b");
  ASSERT_TRUE(eventually([&] { return sink.calls.size() == 1; }));
  on_io([this] { return sink.is_slow = true; });
  give(1, "a");
  ASSERT_TRUE(eventually([&] { return sink.calls.size() == 2; }));
  client.close();
  let_the_server_see();
  on_io([this] { return sink.is_slow = false; });
  ASSERT_TRUE(eventually([&] { return sink.delivered.size() == 2; }));
  const auto body = parse_json(ask(bytes).body);
  EXPECT_EQ(body["choices"][0]["message"]["content"], "a");
  EXPECT_EQ(body["choices"][1]["message"]["content"], "b");
  EXPECT_EQ(body["choices"][1]["token_ids"], json({'b', kEnd}));
  EXPECT_EQ(body["prompt_token_ids"].size(), 20U);
  EXPECT_EQ(body["usage"]["completion_tokens"], 4);
  EXPECT_TRUE(is_delivered(1) && is_delivered(2));
  EXPECT_EQ(num_calls(), 2U);
}

TEST_F(RetryTest, ItsToolCallsHaveTheIdsThatWereIssued) {
  reply_syntax.tool_parser = "hermes";
  start();
  const auto key = open_attempt(1);
  const json tools = {{{"type", "function"}, {"function", {{"name", "ls"}}}}};
  const auto first = request(hi({{"tools", tools}, {"stream", true}}), key);
  RawClient client(port);
  client.send(first);
  ASSERT_TRUE(has_sequences(1));
  on_io([this] { return sink.is_slow = true; });
  give(1, "<tool_call>\n{\"name\": \"ls\", \"arguments\": {}}\n</tool_call>", std::nullopt);
  ASSERT_TRUE(client.wait_for("\"id\":\"call_"));
  const auto at = client.bytes().find("\"id\":\"call_") + 6;
  const auto id = client.bytes().substr(at, client.bytes().find('"', at) - at);
  give(1, "");
  ASSERT_TRUE(eventually([&] { return sink.calls.size() == 1; }));
  client.close();
  let_the_server_see();
  on_io([this] { return sink.is_slow = false; });
  ASSERT_TRUE(eventually([&] { return sink.delivered.size() == 1; }));
  const auto body = parse_json(ask(request(hi({{"tools", tools}}), key)).body);
  EXPECT_EQ(body["choices"][0]["message"]["tool_calls"][0]["id"], id);
}

TEST_F(RetryTest, ARepeatThatDoesNotArriveIsRepeatedAgain) {
  start();
  const auto key = open_attempt(1);
  const auto body = hi({{"logprobs", true}});   // which make a reply that no kernel's buffers take
  ASSERT_NO_FATAL_FAILURE(leave_whole(request(body, key), std::string(50000, 'a')));
  {
    RawClient slow(port, 4096);
    slow.send(request(body, key));
    ASSERT_TRUE(slow.receive());
  }
  const auto reply = ask(request(body, key, true));
  EXPECT_EQ(parse_json(reply.body)["choices"][0]["message"]["content"], std::string(50000, 'a'));
  EXPECT_TRUE(is_delivered(1));
  EXPECT_EQ(retries("repeated"), 2);
  EXPECT_EQ(num_calls(), 1U);
}

TEST_F(RetryTest, UnderAnotherPolicyItIsSampledAnew) {
  start();
  const auto key = open_attempt(1);
  ASSERT_NO_FATAL_FAILURE(leave_whole(request(hi(), key), "old"));
  on_io([this] { return generator.version = PolicyVersion{4}; });
  RawClient retry(port);
  retry.send(request(hi(), key));
  ASSERT_TRUE(has_sequences(2));
  EXPECT_TRUE(has_state(1, CallState::superseded));
  EXPECT_EQ(key_of(2), key_of(1));
  give(2, "new");
  EXPECT_EQ(parse_json(retry.read_reply().body)["choices"][0]["message"]["content"], "new");
  EXPECT_TRUE(is_delivered(2));
  EXPECT_FALSE(on_io([this] { return sink.delivered[CallId{1}]; }));
  EXPECT_EQ(retries("sampled_anew"), 1);
}

TEST_F(RetryTest, AfterACutReplyItIsSampledAnewWithTheSameDraws) {
  start();
  const auto key = open_attempt(1);
  {
    RawClient client(port);
    client.send(request(hi({{"stream", true}}), key));
    ASSERT_TRUE(has_sequences(1));
    give(1, "ab", std::nullopt);
    ASSERT_TRUE(client.wait_for("ab"));
  }
  ASSERT_TRUE(eventually([this] { return generator.cancelled.size() == 1; }));
  EXPECT_EQ(on_io([this] { return sink.calls.at(0).state; }), CallState::aborted);
  RawClient retry(port);
  retry.send(request(hi({{"stream", true}}), key));
  ASSERT_TRUE(has_sequences(2));
  EXPECT_TRUE(has_state(1, CallState::superseded));
  EXPECT_EQ(key_of(2), key_of(1));
  give(2, "abc");
  EXPECT_TRUE(retry.wait_for("[DONE]"));
  EXPECT_EQ(on_io([this] { return sink.calls.at(1).state; }), CallState::used);
  EXPECT_TRUE(is_delivered(2));
  // Asked once more it is another sample, the second one of its prompt.
  RawClient other(port), twin(port);
  other.send(request(hi({{"stream", true}}), key));
  ASSERT_TRUE(has_sequences(3));
  EXPECT_NE(key_of(3), key_of(1));
  const auto fresh = open_attempt(2);
  for (auto* client : {&retry, &twin}) {
    client->send(request(hi(), fresh));
    ASSERT_TRUE(has_sequences(client == &retry ? 4 : 5));
  }
  EXPECT_EQ(key_of(4), key_of(1));
  EXPECT_EQ(key_of(5), key_of(3)) << "as if the call that was cut had not been";
}

TEST_F(RetryTest, WhileTheFirstClientWaitsAnEqualRequestIsAnotherSample) {
  start();
  const auto key = open_attempt(1);
  RawClient one(port), two(port);
  one.send(request(hi(), key));
  ASSERT_TRUE(has_sequences(1));
  two.send(request(hi(), key));
  ASSERT_TRUE(has_sequences(2));
  EXPECT_NE(key_of(1), key_of(2));
  give(1, "a");
  give(2, "b");
  EXPECT_EQ(parse_json(one.read_reply().body)["choices"][0]["message"]["content"], "a");
  EXPECT_EQ(parse_json(two.read_reply().body)["choices"][0]["message"]["content"], "b");
  EXPECT_TRUE(on_io([this] { return sink.states.empty(); }));
}

TEST_F(RetryTest, AfterAReplyThatArrivedItIsAnotherSample) {
  start();
  const auto key = open_attempt(1);
  for (const std::uint64_t sequence : {1, 2}) {
    RawClient client(port);
    client.send(request(hi(), key, sequence == 2));
    ASSERT_TRUE(has_sequences(sequence));
    give(sequence, "a");
    EXPECT_EQ(client.read_reply().status, 200);
  }
  EXPECT_NE(key_of(1), key_of(2));
  EXPECT_TRUE(is_delivered(1) && is_delivered(2));
}

TEST_F(RetryTest, AReplyThatIsSentBackArrived) {
  start();
  const auto key = open_attempt(1);
  ASSERT_NO_FATAL_FAILURE(leave_whole(request(hi(), key), "a"));
  RawClient next(port), again(port);
  auto messages = hi()["messages"];
  messages.push_back({{"role", "assistant"}, {"content", "a"}});
  messages.push_back({{"role", "user"}, {"content", "on"}});
  next.send(request({{"messages", messages}}, key));
  ASSERT_TRUE(has_sequences(2));
  EXPECT_TRUE(is_delivered(1));
  again.send(request(hi(), key));
  ASSERT_TRUE(has_sequences(3));
  EXPECT_FALSE(has_state(1, CallState::superseded));
}

TEST_F(RetryTest, AnotherBodyOrAttemptIsNoRetry) {
  start();
  const auto key = open_attempt(1);
  ASSERT_NO_FATAL_FAILURE(leave_whole(request(hi({{"max_tokens", 9}}), key), "a"));
  const std::vector<std::string> others = {request(hi({{"max_tokens", 8}}), key, true),
                                           request(hi({{"max_tokens", 9}, {"stop", "x"}}), key, true),
                                           request(hi({{"max_tokens", 9}}), open_attempt(2), true)};
  std::vector<std::unique_ptr<RawClient>> clients;
  for (const auto& other : others) {
    clients.push_back(std::make_unique<RawClient>(port));
    clients.back()->send(other);
    ASSERT_TRUE(has_sequences(1 + clients.size()));
  }
  EXPECT_TRUE(on_io([this] { return sink.states.empty(); }));
}

TEST_F(RetryTest, AMarkedRetryGetsTheReplyThatIsUnderWay) {
  start();
  const auto key = open_attempt(1);
  RawClient first(port), retry(port);
  ASSERT_NO_FATAL_FAILURE(attach(first, retry, key));
  give(1, "a", std::nullopt);
  first.close();
  let_the_server_see();
  EXPECT_TRUE(on_io([this] { return generator.cancelled.empty(); })) << "a retry waits for it";
  give(1, "b");
  EXPECT_EQ(parse_json(retry.read_reply().body)["choices"][0]["message"]["content"], "ab");
  EXPECT_TRUE(is_delivered(1));
  EXPECT_EQ(num_calls(), 1U);
  EXPECT_EQ(on_io([this] { return gate.num_inside(); }), 0U);
  EXPECT_EQ(on_io([this] { return attempts.summary({RolloutId{1}, 1}).num_delivered; }), 1U);
}

TEST_F(RetryTest, BothGetItIfBothAreThere) {
  start();
  const auto key = open_attempt(1);
  RawClient first(port), retry(port), third(port);
  ASSERT_NO_FATAL_FAILURE(attach(first, retry, key));
  third.send(request(hi({{"stream", true}}), key, true));
  let_the_server_see();
  give(1, "ab");
  EXPECT_EQ(parse_json(first.read_reply().body)["choices"][0]["message"]["content"], "ab");
  EXPECT_EQ(parse_json(retry.read_reply().body)["choices"][0]["message"]["content"], "ab");
  EXPECT_TRUE(third.wait_for("[DONE]"));
  EXPECT_EQ(num_sequences(), 1U);
  EXPECT_EQ(num_calls(), 1U);
  EXPECT_TRUE(is_delivered(1));
}

TEST_F(RetryTest, WhenAllHaveLeftItIsCancelled) {
  start();
  const auto key = open_attempt(1);
  RawClient first(port), retry(port);
  ASSERT_NO_FATAL_FAILURE(attach(first, retry, key));
  first.close();
  let_the_server_see();
  EXPECT_TRUE(on_io([this] { return generator.cancelled.empty(); }));
  retry.close();
  EXPECT_TRUE(eventually([this] { return generator.cancelled.size() == 1; }));
  EXPECT_TRUE(eventually([this] { return gate.num_inside() == 0; }));
}

TEST_F(RetryTest, ARetryWaitsAtTheGateWithTheFirst) {
  silent_hold = std::chrono::milliseconds(50);
  start();
  const auto key = open_attempt(1);
  on_io([this] { gate.shut(); return 0; });
  RawClient first(port), retry(port);
  first.send(request(hi(), key));
  ASSERT_TRUE(eventually([this] { return gate.num_waiting() == 1; }));
  retry.send(request(hi({{"stream", true}}), key, true));
  ASSERT_TRUE(retry.wait_for("\"delta\":{}")) << "it has signs of life of its own";
  first.close();
  let_the_server_see();
  EXPECT_EQ(on_io([this] { return gate.num_waiting(); }), 1U);
  on_io([this] { gate.open(); return 0; });
  ASSERT_TRUE(has_sequences(1));
  const auto held = [this] { return attempts.summary({RolloutId{1}, 1}).held_seconds; };
  EXPECT_GT(on_io(held), 0.04);
  give(1, "ab");
  EXPECT_TRUE(retry.wait_for("[DONE]"));
  EXPECT_EQ(on_io(held), on_io(held)) << "nobody waits any more";
  EXPECT_TRUE(is_delivered(1));
}

TEST_F(RetryTest, IfTheFirstFailsTheRetryIsSampled) {
  start();
  const auto key = open_attempt(1);
  RawClient first(port), retry(port);
  ASSERT_NO_FATAL_FAILURE(attach(first, retry, key));
  give(1, "a", std::nullopt);
  on_io([this] { generator.give(RequestId{1}, {}, {}, Error{Code::internal, "broken"}); return 0; });
  EXPECT_EQ(first.read_reply().status, 500);
  ASSERT_TRUE(has_sequences(2));
  EXPECT_TRUE(has_state(1, CallState::superseded));
  give(2, "ab");
  EXPECT_EQ(retry.read_reply().status, 200);
}

TEST_F(RetryTest, AClosedAttemptEndsBoth) {
  start();
  const auto key = open_attempt(1);
  RawClient first(port), retry(port);
  ASSERT_NO_FATAL_FAILURE(attach(first, retry, key));
  on_io([this] { attempts.close({RolloutId{1}, 1}); return 0; });
  EXPECT_EQ(first.read_reply().status, 409);
  EXPECT_EQ(retry.read_reply().status, 409);
  EXPECT_EQ(on_io([this] { return generator.cancelled.size(); }), 1U);
}

TEST_F(RetryTest, AskingAgainForALongerReplySupersedesTheOneThatWasCut) {
  start();
  const auto key = open_attempt(1);
  RawClient client(port);
  client.send(request(hi({{"max_tokens", 2}}), key));
  ASSERT_TRUE(has_sequences(1));
  give(1, "ab", FinishReason::length);
  EXPECT_EQ(client.read_reply().status, 200);
  ASSERT_TRUE(is_delivered(1));
  client.send(request(hi({{"max_tokens", 9}}), key));
  ASSERT_TRUE(has_sequences(2));
  EXPECT_TRUE(has_state(1, CallState::superseded));
  EXPECT_EQ(key_of(2), key_of(1));
  give(2, "abc");
  EXPECT_EQ(client.read_reply().status, 200);
  client.send(request(hi({{"max_tokens", 50}}), key));
  ASSERT_TRUE(has_sequences(3));
  EXPECT_FALSE(has_state(2, CallState::superseded)) << "it was whole";
  EXPECT_NE(key_of(3), key_of(1));
}

TEST_F(RetryTest, OutsideAnyRolloutEveryRequestIsSampled) {
  start();
  RawClient one(port), two(port);
  one.send(request(hi(), {}));
  ASSERT_TRUE(has_sequences(1));
  two.send(request(hi(), {}, true));
  EXPECT_TRUE(has_sequences(2));
}
}  // namespace
}  // namespace corisco::gateway::fakes
