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

TEST(ChatRequest, ReadsPenaltiesBiasesAndEnds) {
  const auto sampling = accepted(with(
      R"("presence_penalty":-2,"frequency_penalty":0.5,"repetition_penalty":1.25,"min_p":0.1,"min_tokens":9,)"
      R"("max_tokens":9,"ignore_eos":true,"logit_bias":{"7":-100,"5":1.5,"6":0})")).sampling;
  EXPECT_EQ(sampling.presence_penalty, -2);
  EXPECT_EQ(sampling.frequency_penalty, 0.5);
  EXPECT_EQ(sampling.repetition_penalty, 1.25);
  EXPECT_EQ(sampling.min_tokens, 9U);
  EXPECT_EQ(sampling.ignores_end, true);
  ASSERT_EQ(sampling.logit_bias.size(), 2U);   // a bias of 0 is none
  EXPECT_EQ(sampling.logit_bias[0].id, 5);
  EXPECT_EQ(sampling.logit_bias[0].bias, 1.5F);
  EXPECT_EQ(sampling.logit_bias[1].id, 7);
  EXPECT_EQ(sampling.logit_bias[1].bias, -100);
  const auto none = accepted(with("\"user\":\"u\"")).sampling;
  EXPECT_FALSE(none.presence_penalty || none.frequency_penalty || none.repetition_penalty || none.min_tokens ||
               none.ignores_end || !none.logit_bias.empty());
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
      {R"("response_format":{"type":"json_schema"})", "response_format.json_schema"},
      {R"("response_format":{"type":"json_schema","json_schema":{"name":"n"}})", "response_format.json_schema.schema"},
      {R"("response_format":{"type":"structural_tag"})", "response_format"},
      {R"("response_format":{"type":"json_object"},"guided_regex":"a")", "guided_regex"},
      {R"("tool_choice":"required")", "tool_choice"},
      {R"("tool_choice":{"type":"function"})", "tool_choice"},
      {R"("length_penalty":1.1)", "length_penalty"},
      {R"("bad_words":["x"])", "bad_words"},
      {R"("functions":[{}])", "functions"},
      {R"("audio":{"voice":"x"})", "audio"},
      {R"("modalities":["audio"])", "modalities"},
      {R"("prediction":{"type":"content"})", "prediction"},
      {R"("tool_choice":"any")", "tool_choice"},
      {R"("tools":[{"type":"function","function":{"name":"g"}}],"tool_choice":{"type":"function","function":{"name":"f"}})",
       "tool_choice"},
      {R"("guided_json":"no schema")", "guided_json"},
      {R"("guided_choice":["a",1])", "guided_choice"},
      {R"("structured_outputs":{"structural_tag":"x"})", "structured_outputs.structural_tag"},
  };
  for (const auto& [more, name] : cases) EXPECT_EQ(refused(with(more)), name);
}

TEST(ChatRequest, SaysWhatTheReplyMustBe) {
  const auto form = [](const std::string& more) { return accepted(with(more)).form; };
  using Kind = ReplyForm::Kind;
  EXPECT_EQ(form(R"("n":1)").kind, Kind::free);
  EXPECT_EQ(form(R"("response_format":{"type":"json_object"})").text, R"({"type":"object"})");
  const auto schema = form(R"("response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,)"
                           R"("schema":{"type":"object","z":1,"a":2}}})");
  EXPECT_EQ(schema.kind, Kind::json_schema);
  EXPECT_EQ(schema.text, R"({"type":"object","z":1,"a":2})");
  EXPECT_TRUE(schema.is_strict);
  EXPECT_FALSE(form(R"("response_format":{"type":"json_schema","json_schema":{"schema":{}}})").is_strict);
  EXPECT_EQ(form(R"("guided_json":"{\"type\":\"null\"}")").text, R"({"type":"null"})");
  EXPECT_EQ(form(R"("guided_regex":"a+")").kind, Kind::regex);
  EXPECT_EQ(form(R"("structured_outputs":{"choice":["a","b"],"json":null})").choices,
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(form(R"("guided_grammar":"start: \"a\"")").kind, Kind::lark);
}

TEST(ChatRequest, MayForceCalls) {
  const auto of = [](const std::string& more) {
    return accepted(with(cat(R"("tools":[{"type":"function","function":{"name":"f","strict":true}},)"
                             R"({"type":"function","function":{"name":"g","strict":false}}],)", more)));
  };
  const auto required = of(R"("tool_choice":"required","parallel_tool_calls":false)");
  EXPECT_TRUE(required.forced_call.is_forced && required.forced_call.names.empty());
  EXPECT_FALSE(required.allows_several_calls);
  EXPECT_EQ(required.strict_tools, std::vector<std::string>{"f"});
  const auto named = of(R"("tool_choice":{"type":"function","function":{"name":"g"}})");
  EXPECT_EQ(named.forced_call.names, std::vector<std::string>{"g"});
  EXPECT_TRUE(named.allows_several_calls);
  const auto allowed = of(R"("tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required",)"
                          R"("tools":[{"type":"function","function":{"name":"f"}}]}})");
  EXPECT_EQ(allowed.forced_call.names, std::vector<std::string>{"f"});
  EXPECT_FALSE(of(R"("tool_choice":"auto")").forced_call.is_forced);
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
      {R"("presence_penalty":2.1)", "presence_penalty"},
      {R"("frequency_penalty":-2.1)", "frequency_penalty"},
      {R"("frequency_penalty":"much")", "frequency_penalty"},
      {R"("repetition_penalty":0)", "repetition_penalty"},
      {R"("repetition_penalty":11)", "repetition_penalty"},
      {R"("logit_bias":[5])", "logit_bias"},
      {R"("logit_bias":{"five":1})", "logit_bias"},
      {R"("logit_bias":{"-5":1})", "logit_bias"},
      {R"("logit_bias":{"05":1})", "logit_bias"},
      {R"("logit_bias":{"5 ":1})", "logit_bias"},
      {R"("logit_bias":{"":1})", "logit_bias"},
      {R"("logit_bias":{"2147483648":1})", "logit_bias"},
      {R"("logit_bias":{"5":100.5})", "logit_bias"},
      {R"("logit_bias":{"5":"1"})", "logit_bias"},
      {R"("min_tokens":-1)", "min_tokens"},
      {R"("min_tokens":10,"max_tokens":9)", "min_tokens"},
      {R"("ignore_eos":1)", "ignore_eos"},
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
