// Token ids in, token ids out, in vLLM's and in SGLang's shapes.
#include "corisco/base/json.h"
#include "gateway/server_fixture.h"
#include "gateway/sglang_generate.h"
#include "gateway/vllm_generate.h"

namespace corisco::gateway::fakes {
namespace {
using nlohmann::json;
using Ids = std::vector<TokenId>;

struct TokenRoutesTest : ServerTest {
  RawReply vllm(const json& body, const std::string& key = {}) {
    return ask(post("/inference/v1/generate", json_text(body), key));
  }
  RawReply sglang(const json& body, const std::string& key = {}) {
    return ask(post("/generate", json_text(body), key));
  }
  // Status and param of a refusal.
  static std::pair<int, std::string> refusal(const RawReply& reply) {
    const auto param = parse_json(reply.body)["error"]["param"];
    return {reply.status, param.is_string() ? param.get<std::string>() : std::string()};
  }
  GenerateRequest last_request() { return on_io([this] { return generator.requests.back(); }); }
};

TEST_F(TokenRoutesTest, VllmsShape) {
  start();
  generator.reply = "ab";
  const auto reply = vllm({{"request_id", "mine"}, {"token_ids", {'p', 'q'}},
                           {"sampling_params", {{"temperature", 0.5}, {"top_k", 7}, {"max_tokens", 9}, {"logprobs", 1},
                                                {"stop_token_ids", {'#'}}}}});
  ASSERT_EQ(reply.status, 200);
  const auto body = parse_json(reply.body);
  EXPECT_EQ(body["request_id"], "mine");
  const auto& choice = body["choices"][0];
  EXPECT_EQ(choice["token_ids"], json({'a', 'b', kEnd}));
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_EQ(choice["logprobs"]["content"][0]["token"], "token_id:97");
  EXPECT_EQ(choice["logprobs"]["content"][0]["logprob"], -0.5);
  EXPECT_EQ(choice["logprobs"]["content"][0]["top_logprobs"].size(), 1U);
  EXPECT_EQ(body["usage"]["prompt_tokens"], 2);
  const auto request = last_request();
  EXPECT_EQ(request.prompt_ids, (Ids{'p', 'q'}));
  EXPECT_FLOAT_EQ(request.sampling.temperature, 0.5F);
  EXPECT_EQ(request.sampling.top_k, 7U);
  EXPECT_EQ(request.sampling.max_tokens, 9U);
  EXPECT_EQ(request.sampling.stop_ids, Ids{'#'});
}

TEST_F(TokenRoutesTest, VllmsStreamGivesTheSameTokens) {
  start();
  generator.reply = "abc";
  const json ask_for = {{"token_ids", {'p'}}, {"sampling_params", {{"logprobs", 0}}}, {"stream", true},
                        {"stream_options", {{"include_usage", true}}}};
  json ids = json::array();
  std::string finish;
  const auto chunks = events(vllm(ask_for).body);
  ASSERT_GE(chunks.size(), 4U);
  EXPECT_EQ(chunks.back(), "[DONE]");
  EXPECT_EQ(chunks[chunks.size() - 2]["usage"]["completion_tokens"], 4);
  for (const auto& chunk : chunks) {
    if (!chunk.is_object() || chunk["choices"].empty()) continue;
    const auto& choice = chunk["choices"][0];
    for (const auto& id : choice["token_ids"]) ids.push_back(id);
    if (!choice["finish_reason"].is_null()) finish = choice["finish_reason"];
    if (!choice["token_ids"].empty()) {
      EXPECT_EQ(choice["logprobs"]["content"].size(), choice["token_ids"].size());
    }
  }
  EXPECT_EQ(ids, json({'a', 'b', 'c', kEnd}));
  EXPECT_EQ(finish, "stop");
}

TEST_F(TokenRoutesTest, SglangsShape) {
  start();
  generator.reply = "ab";
  const auto reply = sglang({{"rid", "mine"}, {"text", "pq"}, {"return_logprob", true}, {"top_logprobs_num", 2},
                             {"sampling_params", {{"max_new_tokens", 9}, {"temperature", 0}, {"sampling_seed", 3}}}});
  ASSERT_EQ(reply.status, 200);
  const auto body = parse_json(reply.body);
  EXPECT_EQ(body["text"], "ab");
  EXPECT_EQ(body["output_ids"], json({'a', 'b', kEnd}));
  const auto& meta = body["meta_info"];
  EXPECT_EQ(meta["id"], "mine");
  EXPECT_EQ(meta["prompt_tokens"], 2);
  EXPECT_EQ(meta["completion_tokens"], 3);
  EXPECT_EQ(meta["weight_version"], "3");
  EXPECT_EQ(meta["finish_reason"], json({{"type", "stop"}, {"matched", kEnd}}));
  EXPECT_EQ(meta["output_token_logprobs"][1], json({-0.5, 'b', "b"}));
  EXPECT_EQ(meta["output_top_logprobs"][1], json({{-0.5, 'b', "b"}, {-2.0, 'z', "z"}}));
  EXPECT_EQ(last_request().sampling.max_tokens, 9U);
  EXPECT_EQ(last_request().prompt_ids, (Ids{'p', 'q'}));
}

TEST_F(TokenRoutesTest, SglangsLengthsStopsAndChoices) {
  start();
  generator.reply = "abcdef";
  auto body = parse_json(sglang({{"input_ids", {'p'}}, {"sampling_params", {{"max_new_tokens", 2}}}}).body);
  EXPECT_EQ(body["output_ids"], json({'a', 'b'}));
  EXPECT_EQ(body["meta_info"]["finish_reason"], json({{"type", "length"}, {"length", 2}}));
  body = parse_json(sglang({{"input_ids", {'p'}}, {"sampling_params", {{"stop", {"cd"}}}}}).body);
  EXPECT_EQ(body["text"], "ab");
  EXPECT_EQ(body["meta_info"]["finish_reason"], json({{"type", "stop"}, {"matched", "cd"}}));
  body = parse_json(sglang({{"input_ids", {'p'}}, {"sampling_params", {{"n", 2}}}}).body);
  ASSERT_TRUE(body.is_array());
  EXPECT_EQ(body.size(), 2U);
}

TEST_F(TokenRoutesTest, SglangsStreamRepeatsWhatCameBefore) {
  start();
  generator.reply = std::string(2000, 'x');
  const auto reply = sglang({{"input_ids", {'p'}}, {"stream", true}, {"sampling_params", {{"max_new_tokens", 3000}}}});
  const auto chunks = events(reply.body);
  EXPECT_EQ(chunks.back(), "[DONE]");
  const auto& last = chunks[chunks.size() - 2];
  EXPECT_EQ(last["text"], generator.reply);
  EXPECT_EQ(last["output_ids"].size(), 2001U);
  EXPECT_EQ(last["meta_info"]["finish_reason"]["type"], "stop");
  std::size_t before = 0;
  for (const auto& chunk : chunks) {
    if (!chunk.is_object()) continue;
    EXPECT_GE(chunk["output_ids"].size(), before);
    before = chunk["output_ids"].size();
  }
  EXPECT_GT(chunks.size(), 30U);
  EXPECT_LT(chunks.size(), 400U) << "else the stream is as long as the reply's square";
}

TEST_F(TokenRoutesTest, TheyBelongToRolloutsAsOtherCallsDo) {
  start();
  const auto key = open_attempt(1);
  vllm({{"token_ids", {'a'}}, {"sampling_params", {{"temperature", 0.1}}}}, key);
  const json next = {{"input_ids", {'a', 'h', 'e', 'l', 'l', 'o', kEnd, 'b'}}};
  ask(post("/rollout/1/attempt/1/generate", json_text(next), key));
  const auto calls = on_io([this] { return sink.calls; });
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_TRUE(calls[0].is_trainable);
  EXPECT_FLOAT_EQ(calls[0].temperature, 0.9F) << "the run's";
  EXPECT_EQ(calls[0].request_json, R"([{"role":"user","content":[97]}])");
  EXPECT_EQ(calls[1].split, SplitCause::none) << "it goes on from the first reply's ids";
  EXPECT_EQ(calls[1].turn, 1U);
}

// The fields' places are what an error about the grammar itself names.
TEST(TokenRoutes, SayWhatTheReplyMustBe) {
  using Kind = ReplyForm::Kind;
  const auto form = [](auto parse, const char* ids, const json& params) {
    const json body = {{ids, {1}}, {"sampling_params", params}};
    auto parsed = parse(RequestBody(json_text(body)), ChatLimits{});
    const auto* error = std::get_if<ApiError>(&parsed);
    EXPECT_EQ(error, nullptr) << (error ? error->message : "");
    return error ? ReplyForm{} : std::get<ChatRequest>(parsed).form;
  };
  const auto regex = form(parse_sglang_generate, "input_ids", {{"regex", "a+"}, {"json_schema", nullptr}});
  EXPECT_EQ(regex.kind, Kind::regex);
  EXPECT_EQ(regex.text, "a+");
  EXPECT_EQ(regex.field, "sampling_params.regex");
  const auto schema = form(parse_sglang_generate, "input_ids", {{"json_schema", R"({"type":"null"})"}});
  EXPECT_EQ(schema.kind, Kind::json_schema);
  EXPECT_EQ(schema.text, R"({"type":"null"})");
  EXPECT_EQ(schema.field, "sampling_params.json_schema");
  const auto vllm = form(parse_vllm_generate, "token_ids", {{"structured_outputs", {{"regex", "b+"}}}});
  EXPECT_EQ(vllm.text, "b+");
  EXPECT_EQ(vllm.field, "sampling_params.structured_outputs.regex");
}

TEST_F(TokenRoutesTest, WhatIsNotSupportedIsRefusedUnderTheClientsName) {
  start();
  using Refusal = std::pair<int, std::string>;
  const auto of_vllm = [this](json params) {
    return refusal(vllm({{"token_ids", {1}}, {"sampling_params", std::move(params)}}));
  };
  EXPECT_EQ(of_vllm({{"prompt_logprobs", 21}}), Refusal(400, "sampling_params.prompt_logprobs"));
  EXPECT_EQ(of_vllm({{"temperature", "warm"}}), Refusal(400, "sampling_params.temperature"));
  EXPECT_EQ(of_vllm({{"logprobs", 21}}), Refusal(400, "sampling_params.logprobs"));
  EXPECT_EQ(of_vllm({{"max_tokens", 0}}), Refusal(400, "sampling_params.max_tokens"));
  EXPECT_EQ(refusal(vllm({{"token_ids", json::array()}})), Refusal(400, "token_ids"));
  EXPECT_EQ(refusal(vllm({{"token_ids", {1, 258}}})), Refusal(400, "token_ids")) << "the vocabulary ends at 257";
  EXPECT_EQ(refusal(vllm({{"token_ids", {1}}, {"stream", "yes"}})), Refusal(400, "stream"));
  EXPECT_EQ(refusal(vllm({{"token_ids", {1}}, {"features", {{"a", 1}}}})), Refusal(400, "features"));
  const auto of_sglang = [this](json params) {
    return refusal(sglang({{"input_ids", {1}}, {"sampling_params", std::move(params)}}));
  };
  EXPECT_EQ(of_sglang({{"max_new_tokens", -1}}), Refusal(400, "sampling_params.max_new_tokens"));
  EXPECT_EQ(of_sglang({{"ebnf", "root ::= \"a\""}}), Refusal(400, "sampling_params.ebnf"));
  EXPECT_EQ(of_sglang({{"json_schema", "$$ANY$$"}}), Refusal(400, "sampling_params.json_schema"));
  EXPECT_EQ(of_sglang({{"prompt_logprobs", 1}}), Refusal(400, "sampling_params.prompt_logprobs"));
  EXPECT_EQ(refusal(sglang({{"text", "a"}, {"input_ids", {1}}})), Refusal(400, "input_ids"));
  EXPECT_EQ(refusal(sglang({{"input_ids", {{1}, {2}}}})), Refusal(400, "input_ids"));
  EXPECT_EQ(refusal(sglang({{"text", "a"}, {"return_hidden_states", true}})), Refusal(400, "return_hidden_states"));
  EXPECT_EQ(ask(get("/generate")).status, 405);
  EXPECT_TRUE(on_io([this] { return generator.requests.empty(); }));
}
}  // namespace
}  // namespace corisco::gateway::fakes
