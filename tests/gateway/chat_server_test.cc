// Chat completions end to end over sockets: what a client gets, what is sampled, what is recorded.
#include "corisco/base/json.h"
#include "gateway/server_fixture.h"

namespace corisco::gateway::fakes {
namespace {
using nlohmann::json;
struct ChatServerTest : ServerTest {};

TEST_F(ChatServerTest, WholeReplyWithExactUsage) {
  start();
  const auto reply = chat(hi({{"model", "any/name"}}));
  ASSERT_EQ(reply.status, 200);
  EXPECT_NE(reply.head.find("\r\nx-request-id: "), std::string::npos);
  EXPECT_NE(reply.head.find("\r\nrequest-id: "), std::string::npos);   // Anthropic's clients look there
  const auto body = parse_json(reply.body);
  EXPECT_EQ(body["object"], "chat.completion");
  EXPECT_EQ(body["model"], "any/name");
  EXPECT_EQ(body["choices"][0]["message"]["content"], "hello");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "stop");
  // <|start|> "user:hi" <|end|> <|start|> "assistant:" is 1 + 7 + 1 + 1 + 10 tokens.
  EXPECT_EQ(body["usage"], json({{"prompt_tokens", 20}, {"completion_tokens", 6}, {"total_tokens", 26},
                                 {"prompt_tokens_details", {{"cached_tokens", 0}}},
                                 {"completion_tokens_details", {{"reasoning_tokens", 0}}}}));
  const auto call = on_io([this] { return sink.calls.at(0); });
  EXPECT_EQ(call.tokens.size(), 6U);
  EXPECT_EQ(call.tokens.back().id, kEnd);
  EXPECT_EQ(call.reply_text, "hello");
  EXPECT_FALSE(call.is_trainable);       // outside any rollout
  EXPECT_TRUE(eventually([this] { return sink.delivered[CallId{1}]; }));
}

TEST_F(ChatServerTest, StreamOfChunksEndsWithUsageAndDone) {
  start();
  generator.reply = "h\xc3\xa9!";
  const auto reply = chat(hi({{"stream", true}, {"stream_options", {{"include_usage", true}}}}));
  ASSERT_EQ(reply.status, 200);
  EXPECT_NE(reply.head.find("text/event-stream"), std::string::npos);
  const auto chunks = events(reply.body);
  ASSERT_GE(chunks.size(), 5U);
  EXPECT_EQ(chunks.front()["choices"][0]["delta"]["role"], "assistant");
  std::string text;
  for (const auto& chunk : chunks)
    if (chunk.is_object() && !chunk["choices"].empty())
      text += chunk["choices"][0]["delta"].value("content", "");
  EXPECT_EQ(text, "h\xc3\xa9!");
  EXPECT_EQ(chunks[chunks.size() - 3]["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(chunks[chunks.size() - 2]["usage"]["completion_tokens"], 5);
  EXPECT_TRUE(chunks[chunks.size() - 2]["choices"].empty());
  for (std::size_t i = 0; i + 2 < chunks.size(); ++i) EXPECT_TRUE(chunks[i].at("usage").is_null()) << i;
  EXPECT_EQ(chunks.back(), "[DONE]");
}

TEST_F(ChatServerTest, SeveralChoicesHaveTheirOwnKeysAndRecords) {
  start();
  const auto key = open_attempt(1);
  const auto body = parse_json(chat(hi({{"n", 2}}), key).body);
  ASSERT_EQ(body["choices"].size(), 2U);
  EXPECT_EQ(body["usage"]["completion_tokens"], 12);
  const auto requests = on_io([this] { return generator.requests; });
  EXPECT_NE(requests[0].sampling.key, requests[1].sampling.key);
  const auto calls = on_io([this] { return sink.calls; });
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].turn, calls[1].turn);
  EXPECT_NE(calls[0].choice, calls[1].choice);
  EXPECT_TRUE(calls[0].is_trainable);
}

TEST_F(ChatServerTest, StopStringIsNotShownButItsTokensAreKept) {
  start();
  generator.reply = "one STOP two";
  const auto key = open_attempt(1);
  for (const bool is_stream : {false, true}) {
    const auto reply = chat(hi({{"stop", "STOP"}, {"stream", is_stream}}), key);
    EXPECT_EQ(reply.body.find("two"), std::string::npos);
    EXPECT_EQ(reply.body.find("ST"), std::string::npos);
    const auto call = on_io([this] { return sink.calls.back(); });
    EXPECT_EQ(call.reply_text, "one ");
    EXPECT_EQ(call.finish, FinishReason::stop);
    EXPECT_EQ(call.tokens.size(), 8U);   // "one STOP"
  }
}

TEST_F(ChatServerTest, LengthIsClampedToTheRunsCap) {
  start();
  generator.reply = std::string(200, 'a');
  const auto key = open_attempt(1);
  auto body = parse_json(chat(hi({{"max_tokens", 32000}}), key).body);
  EXPECT_EQ(body["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(body["usage"]["completion_tokens"], 64);
  body = parse_json(chat(hi({{"max_completion_tokens", 3}}), key).body);
  EXPECT_EQ(body["choices"][0]["message"]["content"], "aaa");
  EXPECT_TRUE(on_io([this] { return attempts.summary({RolloutId{1}, 1}).hit_length; }));
}

TEST_F(ChatServerTest, SamplingIsTheRunsInARollout) {
  start();
  const auto ask_with = [&](const json& more, const std::string& key) {
    EXPECT_EQ(chat(hi(more), key).status, 200);
    return on_io([this] { return generator.requests.back().sampling; });
  };
  const json wishes = {{"temperature", 0}, {"seed", 42}, {"top_p", 0.5}};
  const auto a = ask_with(wishes, open_attempt(1, Mode::train, 0));
  const auto b = ask_with(wishes, open_attempt(2, Mode::train, 1));
  EXPECT_FLOAT_EQ(a.temperature, 0.9F);
  EXPECT_FLOAT_EQ(a.top_p, 1.0F);
  EXPECT_NE(a.key, b.key);               // siblings differ though both sent seed 42
  EXPECT_FLOAT_EQ(ask_with(wishes, open_attempt(3, Mode::val)).temperature, 0.25F);
  const auto outside = ask_with(wishes, "");
  EXPECT_FLOAT_EQ(outside.temperature, 0.0F);
  EXPECT_EQ(outside.key, ask_with(wishes, "").key);
  EXPECT_NE(ask_with(json::object(), "").key, ask_with(json::object(), "").key);
  EXPECT_DOUBLE_EQ(metrics.counter("corisco_gateway_overridden_parameters_total", {"seed"}).value(), 3);
}

TEST_F(ChatServerTest, PenaltiesBiasesAndMinTokensAreTheRunsInARollout) {
  config.sampling.frequency_penalty = 0.25F;
  start();
  const json wishes = {
      {"frequency_penalty", 1.5}, {"logit_bias", {{"104", 5}}}, {"min_tokens", 3}, {"ignore_eos", true}};
  const auto ask_with = [&](const std::string& key) {
    EXPECT_EQ(chat(hi(wishes), key).status, 200);
    return on_io([this] { return generator.requests.back().sampling; });
  };
  const auto inside = ask_with(open_attempt(1));
  EXPECT_FLOAT_EQ(inside.frequency_penalty, 0.25F);
  EXPECT_TRUE(inside.logit_bias.empty() && inside.min_tokens == 0 && !inside.ignores_end);
  for (const auto* name : {"frequency_penalty", "logit_bias", "min_tokens", "ignore_eos"})
    EXPECT_DOUBLE_EQ(metrics.counter("corisco_gateway_overridden_parameters_total", {name}).value(), 1) << name;
  const auto outside = ask_with("");
  EXPECT_FLOAT_EQ(outside.frequency_penalty, 1.5F);
  EXPECT_EQ(outside.logit_bias.at(0).id, 104);
  EXPECT_EQ(outside.min_tokens, 3U);
  EXPECT_TRUE(outside.ignores_end);
}

// The generator goes on, as the engine's own watch does: "ll" within the first 4 tokens does not count, "lo" does.
TEST_F(ChatServerTest, AStopStringWithinMinTokensDoesNotCount) {
  start();
  const auto content = [&](const json& more) {
    return parse_json(chat(hi(more)).body)["choices"][0]["message"]["content"].get<std::string>();
  };
  EXPECT_EQ(content({{"stop", "ll"}}), "he");
  EXPECT_EQ(content({{"stop", "ll"}, {"min_tokens", 4}}), "hello");
  EXPECT_EQ(content({{"stop", "lo"}, {"min_tokens", 4}}), "hel");
}

// In each format's own shape; the rollout is not to blame, and the daemon answers the next request.
TEST_F(ChatServerTest, NonFiniteLogitsFailTheirRequestAlone) {
  start();
  const json prompt = {{"role", "user"}, {"content", "hi"}};
  const std::vector<std::pair<std::string, json>> asked = {
      {"/v1/chat/completions", hi()},
      {"/v1/completions", {{"prompt", "hi"}}},
      {"/v1/responses", {{"input", "hi"}}},
      {"/v1/messages", {{"max_tokens", 9}, {"messages", json::array({prompt})}}}};
  std::uint64_t rollout = 0;
  for (const auto& [path, body] : asked) {
    on_io([this] { return generator.is_manual = true; });
    ++rollout;
    const auto key = open_attempt(rollout);
    RawClient client(port);
    client.send(post(path, json_text(body), key));
    ASSERT_TRUE(eventually([&] { return generator.running.size() == 1; }));
    on_io([this] {
      generator.give(generator.running.begin()->first, {}, FinishReason::aborted,
                     Error{Code::internal, "the model's logits after 3 tokens are not finite"});
      return 0;
    });
    const auto reply = client.read_reply();
    EXPECT_EQ(reply.status, 500) << path;
    const auto error = parse_json(reply.body);
    EXPECT_NE(error["error"]["message"].get<std::string>().find("not finite"), std::string::npos) << reply.body;
    EXPECT_EQ(error.value("type", ""), path == "/v1/messages" ? "error" : "");
    EXPECT_TRUE(on_io([&] { return attempts.summary({RolloutId{rollout}, 1}).saw_engine_error; })) << path;
  }
  on_io([this] { return generator.is_manual = false; });
  EXPECT_EQ(chat(hi()).status, 200);
}

TEST_F(ChatServerTest, TheSameHistoryDrawsTheSameKeys) {
  start();
  std::vector<std::uint64_t> keys;
  for (const std::uint64_t rollout : {1, 2}) {       // same occurrence and sibling
    const auto key = open_attempt(rollout);
    for (int i = 0; i < 2; ++i) chat(hi(), key);
  }
  for (const auto& request : on_io([this] { return generator.requests; }))
    keys.push_back(request.sampling.key);
  EXPECT_EQ(keys[0], keys[2]);
  EXPECT_EQ(keys[1], keys[3]);
  EXPECT_NE(keys[0], keys[1]);           // the second identical prompt
}

TEST_F(ChatServerTest, UsageTellsWhatOfThePromptWasComputedBefore) {
  generator.num_cached = 16;
  start();
  EXPECT_EQ(parse_json(chat(hi({{"n", 2}})).body)["usage"]["prompt_tokens_details"]["cached_tokens"], 16);
  const auto input = parse_json(ask(post("/v1/responses", R"({"input": "hi"})")).body)["usage"];
  EXPECT_EQ(input["input_tokens"], 20);
  EXPECT_EQ(input["input_tokens_details"]["cached_tokens"], 16);
  const auto message = parse_json(ask(post("/v1/messages", json_text(hi({{"max_tokens", 9}})))).body)["usage"];
  EXPECT_EQ(message["input_tokens"], 4) << "those beside the cached ones";
  EXPECT_EQ(message["cache_read_input_tokens"], 16);
}

// Only where they may be trained.
TEST_F(ChatServerTest, TheExpertsOfAReplyAreRecordedWithIt) {
  generator.routed_experts = {3, 1, 65534};
  start();
  chat(hi({{"n", 2}}), open_attempt(1));
  chat(hi(), open_attempt(2, Mode::val));
  const auto calls = on_io([this] { return sink.calls; });
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_EQ(calls[0].routed_experts.items(), generator.routed_experts);
  EXPECT_EQ(calls[1].routed_experts.items(), generator.routed_experts);
  EXPECT_TRUE(calls[2].routed_experts.empty());
}

TEST_F(ChatServerTest, ALaterTurnGoesOnFromTheSampledIds) {
  start();
  const auto key = open_attempt(1);
  chat(hi(), key);
  const json messages = {{{"role", "user"}, {"content", "hi"}},
                         {{"role", "assistant"}, {"content", "hello"}},
                         {{"role", "user"}, {"content", "more"}}};
  chat({{"messages", messages}}, key);
  const auto calls = on_io([this] { return sink.calls; });
  auto expected = calls[0].prompt_ids.items();
  for (const auto& token : calls[0].tokens) expected.push_back(token.id);
  const auto next = calls[1].prompt_ids.items();
  const auto begin = next.begin();
  EXPECT_EQ(std::vector<TokenId>(begin, begin + static_cast<std::ptrdiff_t>(expected.size())), expected);
  EXPECT_EQ(calls[1].turn, 1U);
  EXPECT_DOUBLE_EQ(metrics.counter("corisco_gateway_continued_calls_total", {"continued"}).value(), 1);
  chat({{"messages", {{{"role", "user"}, {"content", "other"}}}}}, key);
  EXPECT_DOUBLE_EQ(metrics.counter("corisco_gateway_continued_calls_total", {"full_render"}).value(), 1);
}

TEST_F(ChatServerTest, TokenIdsAndLogprobsOnRequest) {
  start();
  generator.reply = "a";
  const auto reply = chat(hi({{"return_token_ids", true}, {"logprobs", true}, {"top_logprobs", 2}}));
  const auto body = parse_json(reply.body);
  EXPECT_EQ(body["prompt_token_ids"].size(), 20U);
  EXPECT_EQ(body["choices"][0]["token_ids"], json({97, kEnd}));
  const auto content = body["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(content.size(), 2U);
  EXPECT_EQ(content[0]["token"], "a");
  EXPECT_EQ(content[0]["bytes"], json({97}));
  EXPECT_FLOAT_EQ(content[0]["logprob"], -0.5F);
  EXPECT_EQ(content[0]["top_logprobs"][1]["token"], "z");
  EXPECT_EQ(content[1]["token"], "<|end|>");
  const auto chunks = events(chat(hi({{"stream", true}, {"return_token_ids", true}})).body);
  EXPECT_EQ(chunks[0]["prompt_token_ids"].size(), 20U);
  EXPECT_EQ(chunks[1]["choices"][0]["token_ids"], json({97}));
  EXPECT_FALSE(chunks[1].contains("usage"));
  json ids = json::array(), streamed = json::array();
  for (const auto& chunk : events(chat(hi({{"stream", true}, {"return_token_ids", true}, {"logprobs", true},
                                           {"top_logprobs", 2}})).body)) {
    if (!chunk.is_object() || !chunk["choices"][0].contains("token_ids")) continue;
    for (const auto& id : chunk["choices"][0]["token_ids"]) ids.push_back(id);
    for (const auto& entry : chunk["choices"][0]["logprobs"]["content"]) streamed.push_back(entry);
  }
  EXPECT_EQ(ids, body["choices"][0]["token_ids"]);
  EXPECT_EQ(streamed, content);
}

TEST_F(ChatServerTest, APromptThatDoesNotFitIsRefusedByCode) {
  start();
  const auto key = open_attempt(1);
  const auto hit_context = [this] { return attempts.summary({RolloutId{1}, 1}).hit_context; };
  EXPECT_EQ(ask(post("/v1/chat/completions", json_text(hi()), key)).status, 200);
  EXPECT_FALSE(on_io(hit_context));
  generator.context = 20;
  const auto reply = ask(post("/v1/chat/completions", json_text(hi()), key));
  EXPECT_TRUE(on_io(hit_context));
  EXPECT_EQ(reply.status, 400);
  const auto error = parse_json(reply.body)["error"];
  EXPECT_EQ(error["code"], "context_length_exceeded");
  const auto message = error["message"].get<std::string>();
  EXPECT_NE(message.find("maximum context length is 20 tokens"), std::string::npos);
}

TEST_F(ChatServerTest, ErrorsAreShapedAndNameTheField) {
  start();
  auto reply = ask(post("/v1/chat/completions", "{\"messages\": [}"));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(parse_json(reply.body)["error"]["code"], "invalid_json");
  reply = chat(hi({{"logit_bias", {{"five", 1}}}}));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(parse_json(reply.body)["error"]["param"], "logit_bias");
  reply = chat({{"messages", {{{"role", "alien"}, {"content", "x"}}}}});
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.body.find("alien"), std::string::npos);
  reply = ask(post("/v1/embeddings", "{}"));
  EXPECT_EQ(reply.status, 404);
  EXPECT_NE(reply.body.find("/v1/chat/completions"), std::string::npos);
}

TEST_F(ChatServerTest, AFullQueueSaysLaterInEachShapeAndTheRestAnswers) {
  start();
  on_io([this] { return generator.is_full = true; });
  const auto reply = chat(hi());
  EXPECT_EQ(reply.status, 429);
  EXPECT_NE(reply.head.find("Retry-After: 1\r\n"), std::string::npos);
  EXPECT_EQ(parse_json(reply.body)["error"]["type"], "rate_limit_error");
  const auto anthropics = ask(post("/v1/messages", json_text(hi({{"max_tokens", 5}}))));
  EXPECT_EQ(anthropics.status, 429);
  EXPECT_EQ(parse_json(anthropics.body)["type"], "error");
  EXPECT_EQ(ask(post("/v1/responses", R"({"input":"hi"})")).status, 429);
  for (const char* path : {"/healthz", "/readyz", "/metrics", "/admin/state", "/v1/models"})
    EXPECT_EQ(ask(get(path)).status, 200) << path;
}

TEST_F(ChatServerTest, TheRecordIsTheSameStreamedOrNot) {
  start();
  chat(hi(), open_attempt(1));
  chat(hi({{"stream", true}, {"logprobs", true}, {"top_logprobs", 2}}), open_attempt(2));
  const auto calls = on_io([this] { return sink.calls; });
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].reply_text, calls[1].reply_text);
  EXPECT_EQ(calls[0].finish, calls[1].finish);
  ASSERT_EQ(calls[0].tokens.size(), 6U);
  ASSERT_EQ(calls[1].tokens.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    const auto &whole = calls[0].tokens[i], &streamed = calls[1].tokens[i];
    EXPECT_EQ(whole.id, streamed.id) << i;
    EXPECT_EQ(streamed.sampled_logprob, -0.5F) << i;
    EXPECT_EQ(whole.sampled_logprob, streamed.sampled_logprob) << i;
    EXPECT_EQ(whole.drawn_logprob, streamed.drawn_logprob) << i;
    EXPECT_EQ(whole.policy_version, streamed.policy_version) << i;
  }
}

TEST_F(ChatServerTest, AFailedRecordFailsTheRequest) {
  start();
  on_io([this] { return sink.is_broken = true; });
  const auto key = open_attempt(1);
  EXPECT_EQ(ask(post("/v1/chat/completions", json_text(hi()), key)).status, 500);
  EXPECT_TRUE(on_io([this] { return attempts.summary({RolloutId{1}, 1}).saw_engine_error; })) << "not the policy's doing";
  const auto chunks = events(chat(hi({{"stream", true}})).body);
  EXPECT_EQ(chunks[chunks.size() - 2]["error"]["type"], "server_error");
}

TEST_F(ChatServerTest, AnEngineErrorInsideAStreamIsToldInIt) {
  start();
  generator.is_manual = true;
  const auto key = open_attempt(1);
  RawClient client(port);
  client.send(post("/v1/chat/completions", json_text(hi({{"stream", true}})), key));
  ASSERT_TRUE(client.wait_for("assistant"));
  on_io([this] {
    generator.give(RequestId{1}, {'a'}, {});
    generator.give(RequestId{1}, {}, {}, Error{Code::internal, "the device failed"});
    return 0;
  });
  EXPECT_TRUE(client.wait_for("the device failed"));
  EXPECT_TRUE(on_io([this] { return attempts.summary({RolloutId{1}, 1}).saw_engine_error; }));
  const auto calls = on_io([this] { return sink.calls; });
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].finish, FinishReason::aborted);
}

TEST_F(ChatServerTest, ALargeBodyGoesThroughTheWorker) {
  start();
  const std::string long_text(100000, 'x');
  generator.context = 200000;
  const auto reply = chat({{"messages", {{{"role", "user"}, {"content", long_text}}}}});
  ASSERT_EQ(reply.status, 200);
  EXPECT_EQ(parse_json(reply.body)["usage"]["prompt_tokens"], 100018);
}

TEST_F(ChatServerTest, ALongReplyGoesThroughTheWorkerToo) {
  config.sampling.max_tokens = 50000;
  start();
  generator.context = 200000;
  generator.is_manual = true;
  const std::string prompt(20000, 'x'), text(40000, 'y');
  for (const bool is_stream : {false, true}) {
    const RequestId sequence{is_stream ? 2U : 1U};
    RawClient client(port);
    auto request = hi({{"return_token_ids", true}, {"stream", is_stream}});
    request["messages"][0]["content"] = prompt;
    client.send(post("/v1/chat/completions", json_text(request)));
    ASSERT_TRUE(eventually([&] { return generator.requests.size() == sequence.value; }));
    on_io([&] {
      std::vector<TokenId> ids(text.begin(), text.end());
      ids.push_back(kEnd);
      generator.give(sequence, std::move(ids), FinishReason::stop);
      return 0;
    });
    const auto reply = client.read_reply();
    EXPECT_TRUE(reply.is_whole);
    const auto body = is_stream ? events(reply.body).front() : parse_json(reply.body);
    EXPECT_EQ(body["prompt_token_ids"].size(), 20018U);
    if (!is_stream) {
      EXPECT_EQ(body["choices"][0]["message"]["content"], text);
    }
  }
}
}  // namespace
}  // namespace corisco::gateway::fakes
