// prompt_logprobs in vLLM's shape: chat, plain completions and token ids; who is asked for them, and what is refused.
#include "corisco/base/json.h"
#include "gateway/server_fixture.h"

namespace corisco::gateway::fakes {
namespace {
using nlohmann::json;

struct PromptLogprobsTest : ServerTest {
  RawReply complete(const json& body, const std::string& key = {}) {
    return ask(post("/v1/completions", json_text(body), key));
  }
  std::vector<GenerateRequest> requests() {
    return on_io([this] { return generator.requests; });
  }
  static json entry(double logprob, int rank, const json& text) {
    return {{"logprob", logprob}, {"rank", rank}, {"decoded_token", text}};
  }
  // Of a token that the fake makes the second most probable.
  static json one(const std::string& token, bool has_best) {
    json entries = {{cat(int{token[0]}), entry(-1.5, 2, token)}};
    if (has_best) entries["121"] = entry(-0.5, 1, "y");
    return entries;
  }
  // Status and param.
  static std::pair<int, json> refusal(const RawReply& reply) {
    return {reply.status, parse_json(reply.body)["error"]["param"]};
  }
};
using Refusal = std::pair<int, json>;

TEST_F(PromptLogprobsTest, OfAChatAtTheTopOfTheReply) {
  start();
  const auto reply = chat(hi({{"prompt_logprobs", 1}, {"return_token_ids", true}}));
  ASSERT_EQ(reply.status, 200) << reply.body;
  const auto body = parse_json(reply.body);
  const auto& list = body["prompt_logprobs"];
  ASSERT_EQ(list.size(), body["prompt_token_ids"].size());
  EXPECT_TRUE(list[0].is_null());
  EXPECT_EQ(list[1], one("u", true));                      // <|start|>user:hi
  EXPECT_EQ(list[2], one("s", true));
  EXPECT_EQ(body["choices"][0]["message"]["content"], "hello");
}

TEST_F(PromptLogprobsTest, OfACompletionInEachChoiceAndAskedOfOneSequence) {
  start();
  const auto body = parse_json(complete({{"prompt", "abc"}, {"prompt_logprobs", 0}, {"n", 2}}).body);
  const json expected = {nullptr, one("b", false), one("c", false)};
  EXPECT_EQ(body["choices"][0]["prompt_logprobs"], expected);
  EXPECT_EQ(body["choices"][1]["prompt_logprobs"], expected);
  EXPECT_EQ(requests().at(0).prompt_logprobs, 0U);
  EXPECT_FALSE(requests().at(1).prompt_logprobs);
}

// The own token and two more, then two of which one is the own.
TEST_F(PromptLogprobsTest, TheOwnTokenIsThereOnce) {
  start();
  auto body = parse_json(complete({{"prompt", "ab"}, {"prompt_logprobs", 3}}).body);
  auto three = one("b", true);
  three["122"] = entry(-2.5, 3, "z");
  EXPECT_EQ(body["choices"][0]["prompt_logprobs"], json({nullptr, three}));
  body = parse_json(complete({{"prompt", "ab"}, {"prompt_logprobs", 2}}).body);
  EXPECT_EQ(body["choices"][0]["prompt_logprobs"], json({nullptr, one("b", true)}));
  body = parse_json(complete({{"prompt", "a"}, {"prompt_logprobs", 2}}).body);
  EXPECT_EQ(body["choices"][0]["prompt_logprobs"], json::array({nullptr}));
}

TEST_F(PromptLogprobsTest, OfTokenIdsWithoutTexts) {
  start();
  const json body = {{"token_ids", {'a', 'b'}}, {"sampling_params", {{"prompt_logprobs", 0}}}};
  const auto reply = parse_json(ask(post("/inference/v1/generate", json_text(body))).body);
  EXPECT_EQ(reply["prompt_logprobs"], json({nullptr, {{"98", entry(-1.5, 2, nullptr)}}}));
}

// SGLang's shape: the first token that is asked for has none, the others their own, its id and its text.
TEST_F(PromptLogprobsTest, OfSglangsPromptFromAToken) {
  start();
  const auto sglang = [this](json more) {
    json body = {{"text", "abc"}, {"return_logprob", true}};
    body.update(more);
    return ask(post("/generate", json_text(body)));
  };
  auto meta = parse_json(sglang({{"logprob_start_len", 0}}).body)["meta_info"];
  EXPECT_EQ(meta["input_token_logprobs"], json({{nullptr, 'a', "a"}, {-1.5, 'b', "b"}, {-1.5, 'c', "c"}}));
  EXPECT_FALSE(meta.contains("input_top_logprobs"));
  EXPECT_FALSE(meta["output_token_logprobs"].empty());
  meta = parse_json(sglang({{"logprob_start_len", 1}, {"top_logprobs_num", 1}}).body)["meta_info"];
  EXPECT_EQ(meta["input_token_logprobs"], json({{nullptr, 'b', "b"}, {-1.5, 'c', "c"}}));
  EXPECT_EQ(meta["input_top_logprobs"], json::array({nullptr, json::array({{-0.5, 'y', "y"}})}));
  for (const int none : {3, -1}) {
    const auto reply = sglang({{"logprob_start_len", none}});
    ASSERT_EQ(reply.status, 200) << reply.body;
    EXPECT_TRUE(parse_json(reply.body)["meta_info"]["input_token_logprobs"].empty()) << none;
  }
  EXPECT_FALSE(requests().back().prompt_logprobs);
  // A prompt that is only scored leaves nothing behind.
  const auto num_calls = on_io([this] { return sink.calls.size(); });
  const auto body = parse_json(sglang({{"logprob_start_len", 0}, {"sampling_params", {{"max_new_tokens", 0}}}}).body);
  EXPECT_EQ(body["output_ids"], json::array());
  EXPECT_EQ(body["meta_info"]["finish_reason"]["type"], "length");
  EXPECT_EQ(body["meta_info"]["input_token_logprobs"].size(), 3U);
  EXPECT_EQ(on_io([this] { return sink.calls.size(); }), num_calls);
  EXPECT_EQ(refusal(sglang({{"logprob_start_len", 0}, {"stream", true}})), Refusal(400, "logprob_start_len"));
  EXPECT_EQ(refusal(sglang({{"logprob_start_len", -2}})), Refusal(400, "logprob_start_len"));
}

TEST_F(PromptLogprobsTest, WhoDoesNotAskGetsNone) {
  start();
  EXPECT_FALSE(parse_json(chat(hi({{"prompt_logprobs", nullptr}})).body).contains("prompt_logprobs"));
  EXPECT_FALSE(parse_json(complete({{"prompt", "ab"}}).body)["choices"][0].contains("prompt_logprobs"));
  for (const auto& request : requests()) EXPECT_FALSE(request.prompt_logprobs);
}

TEST_F(PromptLogprobsTest, TheRunsSamplingDoesNotHideThem) {
  start();
  const auto key = open_attempt(1);
  const auto body = parse_json(chat(hi({{"prompt_logprobs", 0}, {"temperature", 0.1}}), key).body);
  EXPECT_EQ(body["prompt_logprobs"][1], one("u", false));
  EXPECT_FLOAT_EQ(requests().at(0).sampling.temperature, 0.9F) << "the run's";
}

TEST_F(PromptLogprobsTest, AReplyThatTheGatewayMakesItselfHasNone) {
  config.gateway.calls_per_attempt_max = 1;
  start();
  const auto key = open_attempt(1);
  chat(hi(), key);
  const auto body = parse_json(chat(hi({{"prompt_logprobs", 0}}), key).body);
  EXPECT_TRUE(body.at("prompt_logprobs").is_null());
}

// Its client left before the last byte; the one that asks again gets what was sampled.
TEST_F(PromptLogprobsTest, ARepeatedReplyHasThem) {
  generator.is_manual = true;
  start();
  const auto key = open_attempt(1);
  const auto request = post("/v1/chat/completions", json_text(hi({{"prompt_logprobs", 1}})), key);
  on_io([this] { return sink.is_slow = true; });
  RawClient client(port);
  client.send(request);
  ASSERT_TRUE(eventually([this] { return generator.requests.size() == 1; }));
  on_io([this] {
    generator.give(RequestId{1}, {'o', 'k', kEnd}, FinishReason::stop);
    return 0;
  });
  ASSERT_TRUE(eventually([this] { return sink.calls.size() == 1; }));
  client.close();
  EXPECT_EQ(ask(get("/healthz")).status, 200);             // the server has seen the end
  on_io([this] { return sink.is_slow = false; });
  ASSERT_TRUE(eventually([this] { return sink.delivered.contains(CallId{1}); }));
  const auto body = parse_json(ask(request).body);
  EXPECT_EQ(body["choices"][0]["message"]["content"], "ok");
  EXPECT_EQ(body["prompt_logprobs"][1], one("u", true));
  EXPECT_EQ(requests().size(), 1U);
}

TEST_F(PromptLogprobsTest, WhatCannotBeGivenIsRefusedByName) {
  start();
  for (const auto& value : {json(21), json(-1), json(true), json("1"), json(0.5)}) {
    EXPECT_EQ(refusal(chat(hi({{"prompt_logprobs", value}}))), Refusal(400, "prompt_logprobs")) << value;
    EXPECT_EQ(refusal(complete({{"prompt", "a"}, {"prompt_logprobs", value}})), Refusal(400, "prompt_logprobs"));
  }
  EXPECT_EQ(refusal(chat(hi({{"prompt_logprobs", 0}, {"stream", true}}))), Refusal(400, "prompt_logprobs"));
  const json streamed = {{"token_ids", {1, 2}}, {"stream", true}, {"sampling_params", {{"prompt_logprobs", 1}}}};
  EXPECT_EQ(refusal(ask(post("/inference/v1/generate", json_text(streamed)))),
            Refusal(400, "sampling_params.prompt_logprobs"));
  const json response = {{"input", "hi"}, {"prompt_logprobs", 1}};
  EXPECT_EQ(refusal(ask(post("/v1/responses", json_text(response)))), Refusal(400, "prompt_logprobs"));
  EXPECT_TRUE(requests().empty());
}

TEST_F(PromptLogprobsTest, AReplyHasALimitOfThem) {
  start();
  json body = {{"prompt", std::vector<int>(20000, 'a')}, {"prompt_logprobs", 20}, {"max_tokens", 1}};
  const auto reply = complete(body);
  EXPECT_EQ(refusal(reply), Refusal(400, "prompt_logprobs"));
  EXPECT_NE(reply.body.find("420000"), std::string::npos) << reply.body;
  body["prompt_logprobs"] = 0;
  EXPECT_EQ(parse_json(complete(body).body)["choices"][0]["prompt_logprobs"].size(), 20000U);
}
}  // namespace
}  // namespace corisco::gateway::fakes
