// Plain completions: what a body may hold, and over sockets what is sampled, shown and recorded.
#include "corisco/base/json.h"
#include "gateway/openai_completions.h"
#include "gateway/server_fixture.h"

namespace corisco::gateway {
namespace {
using nlohmann::json;
using Ids = std::vector<TokenId>;

ChatRequest accepted(const std::string& body) {
  auto parsed = parse_openai_completion(body, {});
  const auto* error = std::get_if<ApiError>(&parsed);
  EXPECT_EQ(error, nullptr) << (error ? error->message : "");
  return error ? ChatRequest{} : std::get<ChatRequest>(parsed);
}
ApiError refused(const std::string& body) {
  auto parsed = parse_openai_completion(body, {});
  const auto* error = std::get_if<ApiError>(&parsed);
  EXPECT_NE(error, nullptr) << body;
  return error ? *error : ApiError{};
}

TEST(CompletionRequest, ThePromptInItsForms) {
  for (const auto* body : {R"({"prompt":"a b"})", R"({"prompt":["a b"]})"}) {
    EXPECT_EQ(accepted(body).prompt_text, "a b");
    EXPECT_TRUE(accepted(body).prompt_ids.empty());
    EXPECT_EQ(accepted(body).sent_messages_json, R"([{"role":"user","content":"a b"}])");
  }
  for (const auto* body : {R"({"prompt":[5,6]})", R"({"prompt":[[5,6]]})"}) {
    EXPECT_EQ(accepted(body).prompt_ids, (Ids{5, 6}));
    EXPECT_FALSE(accepted(body).prompt_text);
    EXPECT_EQ(accepted(body).sent_messages_json, R"([{"role":"user","content":[5,6]}])");
  }
  for (const auto* body : {R"({})", R"({"prompt":null})", R"({"prompt":[]})", R"({"prompt":[[]]})", R"({"prompt":7})",
                           R"({"prompt":[5,"a"]})", R"({"prompt":[5,-1]})", R"({"prompt":[4294967296]})",
                           R"({"prompt":[1.5]})", R"({"prompt":{"a":1}})"})
    EXPECT_EQ(refused(body).param, "prompt") << body;
}

TEST(CompletionRequest, SeveralPromptsAreRefusedWithTheRemedy) {
  for (const auto* body : {R"({"prompt":["a","b"]})", R"({"prompt":[[1],[2]]})"}) {
    EXPECT_EQ(refused(body).code, "unsupported_parameter");
    EXPECT_NE(refused(body).message.find("each in a request of its own"), std::string::npos);
  }
}

TEST(CompletionRequest, ReadsItsFields) {
  const auto request = accepted(
      R"({"prompt":"a","model":"m","n":3,"max_tokens":9,"stop":["x"],"stop_token_ids":[4],"stream":true,)"
      R"("stream_options":{"include_usage":true},"logprobs":2,"seed":5,"temperature":0.5,"top_p":0.9,"top_k":-1,)"
      R"("min_p":0.1,"return_token_ids":true,"add_special_tokens":false,"echo":false,"best_of":1,"suffix":null})");
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(request.num_choices, 3U);
  EXPECT_EQ(request.max_tokens, 9U);
  EXPECT_EQ(request.stop_strings, std::vector<std::string>{"x"});
  EXPECT_EQ(request.stop_ids, Ids{4});
  EXPECT_TRUE(request.is_stream && request.includes_usage && request.returns_token_ids && request.returns_logprobs);
  EXPECT_EQ(request.top_logprobs, 2U);
  EXPECT_EQ(request.sampling.seed, 5);
  EXPECT_EQ(request.sampling.top_k, 0U);
  EXPECT_FALSE(request.adds_prompt_prefix);
  const auto biased = accepted(R"({"prompt":"a","logit_bias":{"3":2},"presence_penalty":1,"min_tokens":2})").sampling;
  EXPECT_EQ(biased.logit_bias.at(0).id, 3);
  EXPECT_EQ(biased.presence_penalty, 1);
  EXPECT_EQ(biased.min_tokens, 2U);
  const auto scored = accepted(R"({"prompt":"a","echo":true,"max_tokens":0})");
  EXPECT_TRUE(scored.echoes_prompt && scored.samples_nothing());
  const auto plain = accepted(R"({"prompt":"a"})");
  EXPECT_FALSE(plain.echoes_prompt || plain.samples_nothing());
  EXPECT_TRUE(plain.adds_prompt_prefix);
  EXPECT_FALSE(plain.returns_logprobs || plain.max_tokens);
  EXPECT_TRUE(accepted(R"({"prompt":"a","logprobs":0})").returns_logprobs);
}

TEST(CompletionRequest, WhatWouldChangeTheResultIsRefusedByName) {
  for (const auto& [field, value] : std::vector<std::pair<std::string, std::string>>{
           {"echo", "1"}, {"suffix", "\"x\""}, {"best_of", "2"}, {"logprobs", "21"}, {"logprobs", "true"},
           {"prompt_logprobs", "21"}, {"logit_bias", "{\"a\":1}"}, {"frequency_penalty", "2.5"}, {"max_tokens", "0"},
           {"response_format", "{\"type\":\"xml\"}"}, {"prompt_embeds", "\"AA==\""}, {"n", "17"},
           {"skip_special_tokens", "false"}, {"truncate_prompt_tokens", "5"}, {"stream_options", "{}"}})
    EXPECT_EQ(refused(cat(R"({"prompt":"a",")", field, "\":", value, "}")).param, field);
}
}  // namespace

namespace fakes {
namespace {
using nlohmann::json;

struct CompletionServerTest : ServerTest {
  RawReply complete(const json& body, const std::string& key = {}) {
    return ask(post("/v1/completions", json_text(body), key));
  }
  GenerateRequest last_request() {
    return on_io([this] { return generator.requests.back(); });
  }
};

TEST_F(CompletionServerTest, WholeReply) {
  start();
  const auto reply = complete({{"prompt", "ab"}, {"model", "m"}});
  ASSERT_EQ(reply.status, 200) << reply.body;
  const auto body = parse_json(reply.body);
  EXPECT_EQ(body["id"].get<std::string>().substr(0, 5), "cmpl-");
  EXPECT_EQ(body["object"], "text_completion");
  EXPECT_EQ(body["model"], "m");
  EXPECT_EQ(body["choices"], json::array({{{"index", 0}, {"text", "hello"}, {"logprobs", nullptr},
                                           {"finish_reason", "stop"}}}));
  EXPECT_EQ(body["usage"]["prompt_tokens"], 2);
  EXPECT_EQ(body["usage"]["completion_tokens"], 6);
  EXPECT_EQ(body["usage"]["total_tokens"], 8);
  EXPECT_EQ(last_request().prompt_ids, (Ids{'a', 'b'}));   // no template
  EXPECT_EQ(last_request().sampling.max_tokens, 64U);      // the run's
}

TEST_F(CompletionServerTest, StreamHasTheSameText) {
  start();
  generator.reply = "h\xc3\xa9!";
  const auto chunks = events(complete({{"prompt", "ab"}, {"stream", true}, {"n", 2},
                                       {"stream_options", {{"include_usage", true}}}}).body);
  std::map<int, std::string> texts;
  std::map<int, json> reasons;
  for (std::size_t i = 0; i + 2 < chunks.size(); ++i) {
    EXPECT_EQ(chunks[i]["object"], "text_completion");
    EXPECT_TRUE(chunks[i].at("usage").is_null());
    const auto& choice = chunks[i]["choices"][0];
    texts[choice["index"].get<int>()] += choice["text"].get<std::string>();
    if (!choice["finish_reason"].is_null()) reasons[choice["index"].get<int>()] = choice["finish_reason"];
  }
  EXPECT_EQ(texts, (std::map<int, std::string>{{0, "h\xc3\xa9!"}, {1, "h\xc3\xa9!"}}));
  EXPECT_EQ(reasons, (std::map<int, json>{{0, "stop"}, {1, "stop"}}));
  EXPECT_EQ(chunks[chunks.size() - 2]["usage"]["completion_tokens"], 10);
  EXPECT_EQ(chunks.back(), "[DONE]");
}

TEST_F(CompletionServerTest, ATextMayNameControlTokensAndGetsTheTokenizersPrefix) {
  tokenizer->prefix = {kStart};
  start();
  complete({{"prompt", "a<|end|>"}});
  EXPECT_EQ(last_request().prompt_ids, (Ids{kStart, 'a', kEnd}));
  complete({{"prompt", "a<|end|>"}, {"add_special_tokens", false}});
  EXPECT_EQ(last_request().prompt_ids, (Ids{'a', kEnd}));
  chat(hi());
  EXPECT_EQ(last_request().prompt_ids.front(), kStart);
  EXPECT_EQ(last_request().prompt_ids[1], 'u');            // the template writes its own
  complete({{"prompt", ""}});
  EXPECT_EQ(last_request().prompt_ids, Ids{kStart});
  const auto reply = complete({{"prompt", ""}, {"add_special_tokens", false}});
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(parse_json(reply.body)["error"]["param"], "prompt");
}

TEST_F(CompletionServerTest, IdsAreTakenAsTheyAre) {
  tokenizer->prefix = {kStart};
  start();
  complete({{"prompt", {0xff, 0x80, kEnd}}});              // no text at all
  EXPECT_EQ(last_request().prompt_ids, (Ids{0xff, 0x80, kEnd}));
  const auto reply = complete({{"prompt", {'a', 258}}});   // the vocabulary ends at 257
  EXPECT_EQ(reply.status, 400);
  const auto error = parse_json(reply.body)["error"];
  EXPECT_EQ(error["code"], "invalid_token_id");
  EXPECT_NE(error["message"].get<std::string>().find("'prompt[1]' is 258"), std::string::npos);
}

TEST_F(CompletionServerTest, LogprobsInTheirOlderShapeStreamedAndNot) {
  start();
  generator.reply = "\xc3\xa9""b";
  const json ask_for = {{"prompt", "p"}, {"logprobs", 2}, {"return_token_ids", true}};
  const auto choice = parse_json(complete(ask_for).body)["choices"][0];
  EXPECT_EQ(choice["text"], "\xc3\xa9""b");
  EXPECT_EQ(choice["token_ids"], json({0xc3, 0xa9, 'b', kEnd}));
  EXPECT_EQ(choice["prompt_token_ids"], json({'p'}));
  const auto& lists = choice["logprobs"];
  EXPECT_EQ(lists["token_logprobs"], json({-0.5, -0.5, -0.5, -0.5}));
  EXPECT_EQ(lists["text_offset"], json({0, 1, 1, 2}));
  EXPECT_EQ(lists["tokens"][2], "b");
  EXPECT_EQ(lists["tokens"][3], "<|end|>");
  EXPECT_EQ(lists["top_logprobs"][2], json({{"b", -0.5}, {"z", -2.0}}));
  auto streamed = ask_for;
  streamed["stream"] = true;
  json joined = {{"text_offset", json::array()}, {"token_logprobs", json::array()}, {"tokens", json::array()},
                 {"top_logprobs", json::array()}};
  json ids = json::array();
  const auto chunks = events(complete(streamed).body);
  EXPECT_EQ(chunks[0]["choices"][0]["prompt_token_ids"], json({'p'}));
  for (const auto& chunk : chunks) {
    if (!chunk.is_object() || chunk["choices"][0]["logprobs"].is_null()) continue;
    for (const auto& [name, list] : chunk["choices"][0]["logprobs"].items())
      for (const auto& value : list) joined[name].push_back(value);
    for (const auto& id : chunk["choices"][0]["token_ids"]) ids.push_back(id);
  }
  EXPECT_EQ(joined, lists);
  EXPECT_EQ(ids, choice["token_ids"]);
  // None asked for beside the sampled one.
  const auto alone = parse_json(complete({{"prompt", "p"}, {"logprobs", 0}}).body)["choices"][0]["logprobs"];
  EXPECT_EQ(alone["top_logprobs"][2], json({{"b", -0.5}}));
}

TEST_F(CompletionServerTest, ToolCallsAndThoughtsStayText) {
  reply_syntax = {"hermes", true};
  start();
  generator.reply = "<think>x</think><tool_call>\n{\"name\":\"a\",\"arguments\":{}}\n</tool_call>";
  const auto body = parse_json(complete({{"prompt", "p"}, {"max_tokens", 200}}).body);
  EXPECT_EQ(body["choices"][0]["text"], generator.reply);
  EXPECT_EQ(body["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(body["usage"]["completion_tokens_details"]["reasoning_tokens"], 0);
}

TEST_F(CompletionServerTest, IsRecordedAndGoesOnFromExactTokens) {
  start();
  const auto key = open_attempt(1);
  generator.reply = std::string(100, 'x');
  complete({{"prompt", "ab"}, {"max_tokens", 3}}, key);
  complete({{"prompt", "abxxxc"}}, key);                   // by its text
  complete({{"prompt", {'a', 'b', 'x', 'x', 'x', 'd'}}}, key);   // by its ids
  complete({{"prompt", "other"}}, key);
  const auto calls = on_io([this] { return sink.calls; });
  ASSERT_EQ(calls.size(), 4U);
  EXPECT_TRUE(calls[0].is_trainable);
  EXPECT_EQ(calls[0].finish, FinishReason::length);
  EXPECT_EQ(calls[0].reply_text, "xxx");
  EXPECT_EQ(calls[0].request_json, R"([{"role":"user","content":"ab"}])");
  EXPECT_EQ(calls[1].prompt_ids, (Ids{'a', 'b', 'x', 'x', 'x', 'c'}));
  EXPECT_EQ(calls[2].prompt_ids, (Ids{'a', 'b', 'x', 'x', 'x', 'd'}));
  EXPECT_EQ(calls[2].turn, 2U);
  EXPECT_DOUBLE_EQ(metrics.counter("corisco_gateway_continued_calls_total", {"continued"}).value(), 2);
  EXPECT_DOUBLE_EQ(metrics.counter("corisco_gateway_continued_calls_total", {"full_render"}).value(), 1);
}

TEST_F(CompletionServerTest, APromptThatDoesNotFitNamesBothNumbers) {
  start();
  generator.context = 3;
  const auto reply = complete({{"prompt", "abc"}});
  EXPECT_EQ(reply.status, 400);
  const auto error = parse_json(reply.body)["error"];
  EXPECT_EQ(error["code"], "context_length_exceeded");
  EXPECT_EQ(error["message"], "This model's maximum context length is 3 tokens. However, your request has 3 input "
                              "tokens. Please reduce the length of the input prompt.");
}
}  // namespace
}  // namespace fakes
}  // namespace corisco::gateway
