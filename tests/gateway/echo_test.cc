// echo: a completion behind its prompt, in the text and in the log-probabilities; with max_tokens 0 the prompt alone.
#include "corisco/base/json.h"
#include "gateway/server_fixture.h"

namespace corisco::gateway::fakes {
namespace {
using nlohmann::json;

struct EchoTest : ServerTest {
  json complete(json body, const std::string& key = {}) {
    body["echo"] = true;
    const auto reply = ask(post("/v1/completions", json_text(body), key));
    EXPECT_EQ(reply.status, 200) << reply.body;
    return parse_json(reply.body);
  }
  json choice(json body) { return complete(std::move(body))["choices"][0]; }
  std::vector<GenerateRequest> requests() {
    return on_io([this] { return generator.requests; });
  }
  // Status and param.
  static std::pair<int, json> refusal(const RawReply& reply) {
    return {reply.status, parse_json(reply.body)["error"]["param"]};
  }
};
using Refusal = std::pair<int, json>;

TEST_F(EchoTest, ThePromptStandsBeforeTheReplyInAllLists) {
  start();
  generator.reply = "c\xc3\xa9";
  const auto made = choice({{"prompt", "ab"}, {"logprobs", 1}, {"return_token_ids", true}});
  EXPECT_EQ(made["text"], "abc\xc3\xa9");
  EXPECT_EQ(made["token_ids"], json({'c', 0xc3, 0xa9, kEnd})) << "the reply's own";
  EXPECT_EQ(made["prompt_token_ids"], json({'a', 'b'}));
  EXPECT_FALSE(made.contains("prompt_logprobs"));
  const auto& lists = made["logprobs"];
  EXPECT_EQ(lists["text_offset"], json({0, 1, 2, 3, 4, 4}));
  EXPECT_EQ(lists["tokens"], json({"a", "b", "c", "\xef\xbf\xbd", "\xef\xbf\xbd", "<|end|>"}));
  EXPECT_EQ(lists["token_logprobs"], json({nullptr, -1.5, -0.5, -0.5, -0.5, -0.5}));
  EXPECT_TRUE(lists["top_logprobs"][0].is_null());
  EXPECT_EQ(lists["top_logprobs"][1], json({{"b", -1.5}, {"y", -0.5}}));
  EXPECT_EQ(lists["top_logprobs"][2], json({{"c", -0.5}}));
  EXPECT_EQ(requests().at(0).prompt_logprobs, 1U);
}

TEST_F(EchoTest, EachChoiceHasThePromptThatOneSequenceIsAskedFor) {
  start();
  const auto choices = complete({{"prompt", "ab"}, {"logprobs", 0}, {"n", 2}, {"max_tokens", 1}})["choices"];
  ASSERT_EQ(choices.size(), 2U);
  for (const auto& made : choices) {
    EXPECT_EQ(made["text"], "abh");
    EXPECT_EQ(made["logprobs"]["token_logprobs"], json({nullptr, -1.5, -0.5}));
    EXPECT_EQ(made["logprobs"]["top_logprobs"][1], json({{"b", -1.5}}));
  }
  EXPECT_EQ(requests().at(0).prompt_logprobs, 0U);
  EXPECT_FALSE(requests().at(1).prompt_logprobs);
}

// Each has as many alternatives as it asks for.
TEST_F(EchoTest, GoesWithPromptLogprobs) {
  start();
  auto made = choice({{"prompt", "ab"}, {"logprobs", 2}, {"prompt_logprobs", 0}, {"max_tokens", 1}});
  EXPECT_EQ(requests().back().prompt_logprobs, 2U);
  EXPECT_EQ(made["prompt_logprobs"][1].size(), 1U);
  EXPECT_EQ(made["logprobs"]["top_logprobs"][1], json({{"b", -1.5}, {"y", -0.5}}));
  made = choice({{"prompt", "ab"}, {"logprobs", 0}, {"prompt_logprobs", 3}, {"max_tokens", 1}});
  EXPECT_EQ(requests().back().prompt_logprobs, 3U);
  EXPECT_EQ(made["prompt_logprobs"][1].size(), 3U);
  EXPECT_EQ(made["logprobs"]["top_logprobs"][1], json({{"b", -1.5}}));
  made = choice({{"prompt", "ab"}, {"prompt_logprobs", 1}});
  EXPECT_TRUE(made["logprobs"].is_null());
  EXPECT_EQ(made["text"], "abhello");
}

TEST_F(EchoTest, WithoutLogprobsNobodyIsAskedForThem) {
  start();
  const auto made = choice({{"prompt", "ab"}});
  EXPECT_EQ(made["text"], "abhello");
  EXPECT_TRUE(made["logprobs"].is_null());
  EXPECT_FALSE(requests().at(0).prompt_logprobs);
}

// What the tokenizer puts before a text is a token, but none of the text that was sent.
TEST_F(EchoTest, OffsetsAreThoseOfTheText) {
  tokenizer->prefix = {kStart};
  start();
  json body = {{"prompt", "\xc3\xa9<|end|>"}, {"logprobs", 0}, {"max_tokens", 1}};
  auto made = choice(body);
  EXPECT_EQ(made["text"], "\xc3\xa9<|end|>h");
  EXPECT_EQ(made["logprobs"]["tokens"][0], "<|start|>");
  EXPECT_EQ(made["logprobs"]["text_offset"], json({0, 0, 1, 1, 8}));
  body["add_special_tokens"] = false;
  EXPECT_EQ(choice(body)["logprobs"]["text_offset"], json({0, 1, 1, 8}));
  body["prompt"] = {kStart, 'a'};
  made = choice(body);
  EXPECT_EQ(made["text"], "<|start|>ah");
  EXPECT_EQ(made["logprobs"]["text_offset"], json({0, 9, 10}));
}

TEST_F(EchoTest, ABlankBetweenPromptAndReplyStays) {
  tokenizer->strips = true;
  start();
  generator.reply = " b";
  EXPECT_EQ(parse_json(ask(post("/v1/completions", R"({"prompt":"a"})")).body)["choices"][0]["text"], "b");
  const auto made = choice({{"prompt", "a"}, {"logprobs", 0}});
  EXPECT_EQ(made["text"], "a b");
  EXPECT_EQ(made["logprobs"]["text_offset"], json({0, 1, 2, 3}));
}

TEST_F(EchoTest, AStreamBeginsWithThePrompt) {
  start();
  json body = {{"prompt", "ab"}, {"echo", true}, {"stream", true}, {"n", 2}};
  std::map<int, std::string> texts;
  for (const auto& chunk : events(ask(post("/v1/completions", json_text(body))).body)) {
    if (!chunk.is_object()) continue;
    const auto& shown = chunk["choices"][0];
    texts[shown["index"].get<int>()] += shown["text"].get<std::string>();
  }
  EXPECT_EQ(texts, (std::map<int, std::string>{{0, "abhello"}, {1, "abhello"}}));
}

// Its chunks' lists are, one behind the other, those of the reply in one piece.
TEST_F(EchoTest, AStreamHasThePromptsLogprobsInItsFirstChunks) {
  start();
  json body = {{"prompt", "ab"}, {"echo", true}, {"logprobs", 1}, {"n", 2}};
  const auto whole = parse_json(ask(post("/v1/completions", json_text(body))).body);
  body["stream"] = true;
  std::map<int, json> lists;
  for (const auto& chunk : events(ask(post("/v1/completions", json_text(body))).body)) {
    if (!chunk.is_object() || chunk["choices"][0]["logprobs"].is_null()) continue;
    const auto& shown = chunk["choices"][0];
    auto& joined = lists[shown["index"].get<int>()];
    if (joined.is_null()) {
      EXPECT_EQ(shown["logprobs"]["token_logprobs"], json({nullptr, -1.5}));
    }
    for (const auto& [name, list] : shown["logprobs"].items())
      for (const auto& one : list) joined[name].push_back(one);
  }
  ASSERT_EQ(lists.size(), 2U);
  for (const auto& made : whole["choices"]) EXPECT_EQ(lists[made["index"].get<int>()], made["logprobs"]);
}

TEST_F(EchoTest, AStreamThatFailsBeforeItsPromptIsScoredHasAStatus) {
  generator.is_manual = true;
  start();
  RawClient client(port);
  client.send(post("/v1/completions", R"({"prompt":"ab","echo":true,"logprobs":0,"stream":true})"));
  ASSERT_TRUE(eventually([this] { return generator.requests.size() == 1; }));
  EXPECT_FALSE(client.receive(50));
  on_io([this] { generator.give(RequestId{1}, {}, {}, Error{Code::internal, "broken"}); return 0; });
  EXPECT_EQ(client.read_reply().status, 500);
}

TEST_F(EchoTest, NoTokensAreThePromptAlone) {
  start();
  auto body = complete({{"prompt", "ab"}, {"logprobs", 0}, {"max_tokens", 0}});
  const auto& made = body["choices"][0];
  EXPECT_EQ(made["text"], "ab");
  EXPECT_EQ(made["finish_reason"], "length");
  const json expected = {{"text_offset", {0, 1}}, {"tokens", {"a", "b"}}, {"token_logprobs", {nullptr, -1.5}},
                         {"top_logprobs", {nullptr, {{"b", -1.5}}}}};
  EXPECT_EQ(made["logprobs"], expected);
  EXPECT_EQ(body["usage"]["prompt_tokens"], 2);
  EXPECT_EQ(body["usage"]["completion_tokens"], 0);
  EXPECT_EQ(choice({{"prompt", "a"}, {"logprobs", 5}, {"max_tokens", 0}})["logprobs"]["token_logprobs"],
            json::array({nullptr}));
  EXPECT_EQ(requests().back().sampling.max_tokens, 0U);
  EXPECT_EQ(choice({{"prompt", "ab"}, {"max_tokens", 0}})["text"], "ab");
  const std::string streamed = R"({"prompt":"ab","echo":true,"max_tokens":0,"stream":true})";
  const auto chunks = events(ask(post("/v1/completions", streamed)).body);
  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_EQ(chunks[0]["choices"][0]["text"], "ab");
  EXPECT_EQ(chunks[1]["choices"][0]["finish_reason"], "length");
}

// Nothing was sampled: nothing is recorded, later draws are what they would have been, and the rollout is no other.
TEST_F(EchoTest, AScoredPromptLeavesNoTraceInItsAttempt) {
  start();
  const auto scoring = open_attempt(1), other = open_attempt(2);
  const json sampled = {{"prompt", "ab"}, {"max_tokens", 100}};
  for (const auto& key : {scoring, other}) {
    if (key == scoring) complete({{"prompt", "ab"}, {"logprobs", 0}, {"max_tokens", 0}}, key);
    complete(sampled, key);
    if (key == scoring) complete({{"prompt", "ab"}, {"logprobs", 0}, {"max_tokens", 0}}, key);
    complete(sampled, key);
  }
  const auto made = requests();
  ASSERT_EQ(made.size(), 6U);
  EXPECT_EQ(made[1].sampling.key, made[4].sampling.key);
  EXPECT_EQ(made[3].sampling.key, made[5].sampling.key);
  EXPECT_NE(made[1].sampling.key, made[3].sampling.key);
  const auto calls = on_io([this] { return sink.calls; });
  ASSERT_EQ(calls.size(), 4U);
  for (const auto& call : calls) EXPECT_EQ(call.tokens.size(), 6U) << "what was sampled, nothing of the prompt";
  EXPECT_EQ(calls[0].prompt_ids, (std::vector<TokenId>{'a', 'b'}));
  EXPECT_EQ(calls[0].reply_text, "hello");
  complete({{"prompt", "ab"}, {"logprobs", 0}, {"max_tokens", 0}}, scoring);
  EXPECT_FALSE(on_io([this] { return attempts.summary({RolloutId{1}, 1}).hit_length; }));
}

TEST_F(EchoTest, AReplyThatTheGatewayMakesItselfHasNoLogprobs) {
  config.gateway.calls_per_attempt_max = 1;
  start();
  const auto key = open_attempt(1);
  complete({{"prompt", "ab"}}, key);
  const auto made = complete({{"prompt", "ab "}, {"logprobs", 1}}, key)["choices"][0];
  EXPECT_EQ(made["text"], "ab The rollout's call limit is reached; stop here.");
  EXPECT_TRUE(made["logprobs"]["token_logprobs"].empty());
}

TEST_F(EchoTest, WhatCannotBeGivenIsRefusedByName) {
  start();
  const auto refused = [this](const std::string& path, const json& body) {
    return refusal(ask(post(path, json_text(body))));
  };
  EXPECT_EQ(refused("/v1/completions", {{"prompt", "a"}, {"max_tokens", 0}}), Refusal(400, "max_tokens"));
  EXPECT_EQ(refused("/v1/completions", {{"prompt", "a"}, {"echo", "yes"}}), Refusal(400, "echo"));
  const json long_prompt = {{"prompt", std::vector<int>(20000, 'a')}, {"echo", true}, {"logprobs", 20}};
  EXPECT_EQ(refused("/v1/completions", long_prompt), Refusal(400, "logprobs"));
  EXPECT_EQ(refused("/v1/chat/completions", hi({{"echo", true}})), Refusal(400, "echo"));
  EXPECT_EQ(refused("/v1/responses", {{"input", "hi"}, {"echo", true}}), Refusal(400, "echo"));
  const json of_ids = {{"token_ids", {1, 2}}, {"sampling_params", {{"echo", true}}}};
  EXPECT_EQ(refused("/inference/v1/generate", of_ids), Refusal(400, "sampling_params.echo"));
  EXPECT_TRUE(requests().empty());
}
}  // namespace
}  // namespace corisco::gateway::fakes
