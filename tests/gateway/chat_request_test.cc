// OpenAI's chat wire format: what is read, what is ignored, what is refused and by which name.
#include "gateway/openai_chat.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "corisco/base/strings.h"
#include "gateway/json_fields.h"

namespace corisco::gateway {
namespace {
std::string with(const std::string& more) {
  return cat("{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]", more.empty() ? "" : ",", more, "}");
}
ChatRequest accepted(const std::string& body) {
  auto parsed = parse_openai_chat(body, {});
  const auto* error = std::get_if<ApiError>(&parsed);
  EXPECT_EQ(error, nullptr) << (error ? error->message : "");
  return error ? ChatRequest{} : std::get<ChatRequest>(parsed);
}
// The field that the refusal names.
std::string refused(const std::string& body) {
  auto parsed = parse_openai_chat(body, {});
  const auto* error = std::get_if<ApiError>(&parsed);
  if (error == nullptr) return "accepted";
  if (error->status != 400) return "wrong status";
  return error->param.empty() ? error->code : error->param;
}

TEST(ChatRequest, ReadsItsFields) {
  const auto request = accepted(with(
      R"("model":"m","n":3,"stop":["a","b"],"max_tokens":9,"max_completion_tokens":7,"seed":-4,)"
      R"("temperature":0.5,"top_p":0.9,"top_k":-1,"logprobs":true,"top_logprobs":2,"stream":true,)"
      R"("stream_options":{"include_usage":true},"return_token_ids":true,"stop_token_ids":[5],)"
      R"("tools":[{"type":"function","z":1,"a":2}],"tool_choice":"auto","chat_template_kwargs":{"k":1})"));
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(request.num_choices, 3U);
  EXPECT_EQ(request.stop_strings, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.max_tokens, 7U);
  EXPECT_EQ(request.sampling.seed, -4);
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_EQ(request.sampling.top_k, 0U);
  EXPECT_EQ(request.top_logprobs, 2U);
  EXPECT_TRUE(request.is_stream && request.includes_usage);
  EXPECT_TRUE(request.returns_token_ids && request.returns_logprobs);
  EXPECT_EQ(request.stop_ids, std::vector<TokenId>{5});
  EXPECT_EQ(request.tools_json, R"([{"type":"function","z":1,"a":2}])");   // in the order that came
  EXPECT_EQ(request.template_kwargs_json, R"({"k":1})");
  EXPECT_EQ(accepted(with("\"stop\":\"x\"")).stop_strings, std::vector<std::string>{"x"});
  EXPECT_EQ(accepted(with("\"max_tokens\":5.0")).max_tokens, 5U);   // JSON has a single kind of number
}

TEST(ChatRequest, HarmlessFieldsAreIgnored) {
  for (const auto* more :
       {R"("user":"u","metadata":{},"store":false,"parallel_tool_calls":true,"whatever":[1])",
        R"("response_format":{"type":"text"},"presence_penalty":0,"frequency_penalty":0.0,"logit_bias":{})",
        R"("stop":null,"max_tokens":null,"temperature":null,"tools":[],"tool_choice":"none")",
        R"("modalities":["text"],"prediction":null,"functions":[],"min_tokens":0)",
        R"("skip_special_tokens":true,"reasoning_effort":"high")"})
    accepted(with(more));
}

TEST(ChatRequest, WhatWouldChangeTheResultIsRefusedByName) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("response_format":{"type":"json_schema"})", "response_format"},
      {R"("response_format":{"type":"json_object"})", "response_format"},
      {R"("tool_choice":"required")", "tool_choice"},
      {R"("tool_choice":{"type":"function"})", "tool_choice"},
      {R"("logit_bias":{"5":1})", "logit_bias"},
      {R"("presence_penalty":0.1)", "presence_penalty"},
      {R"("frequency_penalty":-1)", "frequency_penalty"},
      {R"("repetition_penalty":1.1)", "repetition_penalty"},
      {R"("functions":[{}])", "functions"},
      {R"("audio":{"voice":"x"})", "audio"},
      {R"("modalities":["audio"])", "modalities"},
      {R"("prediction":{"type":"content"})", "prediction"},
      {R"("guided_json":{"type":"object"})", "guided_json"},
      {R"("ignore_eos":true)", "ignore_eos"},
  };
  for (const auto& [more, name] : cases) EXPECT_EQ(refused(with(more)), name);
}

TEST(ChatRequest, WrongValuesAreRefusedByName) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("n":0)", "n"},
      {R"("n":17)", "n"},
      {R"("n":1.5)", "n"},
      {R"("n":1e300)", "n"},
      {R"("n":true)", "n"},
      {R"("n":18446744073709551615)", "n"},
      {R"("max_tokens":0)", "max_tokens"},
      {R"("max_tokens":-5)", "max_tokens"},
      {R"("temperature":"hot")", "temperature"},
      {R"("temperature":-1)", "temperature"},
      {R"("top_p":0)", "top_p"},
      {R"("top_p":1.01)", "top_p"},
      {R"("seed":1.5)", "seed"},
      {R"("stop":[""])", "stop"},
      {R"("stop":7)", "stop"},
      {R"("stop":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17"])", "stop"},
      {R"("stream":"yes")", "stream"},
      {R"("stream_options":{"include_usage":true})", "stream_options"},
      {R"("top_logprobs":2)", "top_logprobs"},
      {R"("logprobs":true,"top_logprobs":21)", "top_logprobs"},
      {R"("model":5)", "model"},
      {R"("tools":{})", "tools"},
  };
  for (const auto& [more, name] : cases) EXPECT_EQ(refused(with(more)), name) << more;
}

TEST(ChatRequest, BodiesThatAreNotRequests) {
  for (const auto* body : {"", "{", "[]", "null", "{\"messages\":1e999}", "\xff\xfe", "{\"a\":\"\xc3\x28\"}"})
    EXPECT_EQ(refused(body), "invalid_json") << body;
  for (const auto* body : {"{}", "{\"messages\":[]}", "{\"messages\":\"hi\"}", "{\"messages\":null}"})
    EXPECT_EQ(refused(body), "messages") << body;
  EXPECT_EQ(refused("{\"messages\":[5]}"), "messages[0]");
  EXPECT_EQ(refused("{\"messages\":[{\"content\":\"x\"}]}"), "messages[0]");
  const auto* image = R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{}}]}]})";
  EXPECT_EQ(refused(image), "messages[0]");
  EXPECT_EQ(refused(std::string(100, '[')), "invalid_json");
  EXPECT_EQ(refused(std::string(1000000, '[')), "invalid_json");
}

TEST(ChatRequest, AnErrorNeverRepeatsWhatWasSent) {
  const auto parsed = parse_openai_chat(with("\"stop\":[\"sesame\",5]"), {});
  EXPECT_EQ(std::get<ApiError>(parsed).message.find("sesame"), std::string::npos);
}

TEST(ChatRequest, MessagesAreNormalisedForTheTemplateAndKeptAsSent) {
  const auto request = accepted(
      R"({"messages":[{"role":"developer",)"
      R"("content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},)"
      R"({"role":"assistant","content":null,)"
      R"("tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"z\":1,\"a\":2}"}}]}]})");
  EXPECT_EQ(request.messages_json,
            R"([{"role":"system","content":"a\nb"},{"role":"assistant","content":null,)"
            R"("tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"z\":1,\"a\":2}"}}]}])");
  EXPECT_NE(request.sent_messages_json.find("developer"), std::string::npos);
}

// What is parsed a second time has the body's limits again: writing nested JSON recurses.
TEST(ChatRequest, DeepArgumentsStayAText) {
  const std::string deep(200000, '[');
  const auto request = accepted(cat(
      R"({"messages":[{"role":"assistant","content":"","tool_calls":[{"function":{"name":"f","arguments":"{\"a\":)", deep,
      R"("}}]}]})"));
  EXPECT_NE(request.messages_json.find(R"("arguments":"{\"a\":[[[)"), std::string::npos);
}

TEST(JsonShape, DepthAndMembersAreBounded) {
  JsonLimits limits;
  limits.depth_max = 3;
  limits.members_max = 2;
  EXPECT_FALSE(exceeds("[[[1,2,3,4]]]", limits));
  EXPECT_TRUE(exceeds("[[[[1]]]]", limits));
  EXPECT_FALSE(exceeds(R"({"a":"[[[[{,,,","b":"\"[[[["})", limits));
  EXPECT_TRUE(exceeds(R"({"a":1,"b":2,"c":3})", limits));
  EXPECT_FALSE(exceeds(R"([{"a":1,"b":2},{"a":1,"b":2}])", limits));
}
}  // namespace
}  // namespace corisco::gateway
