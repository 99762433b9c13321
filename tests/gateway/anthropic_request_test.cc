// Anthropic's messages: how they become native ones, what is ignored, what is refused and by which
// name; and the shape of errors.
#include <gtest/gtest.h>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "gateway/anthropic_messages.h"
#include "gateway/json_fields.h"

namespace corisco::gateway {
namespace {
std::string with(const std::string& more) {
  return cat(R"({"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}])", more.empty() ? "" : ",",
             more, "}");
}
std::string of_messages(const std::string& messages) { return cat("{\"messages\":[", messages, "]}"); }
std::string of_user(const std::string& block) {
  return of_messages(cat(R"({"role":"user","content":[)", block, "]}"));
}

ChatRequest accepted(const std::string& body) {
  auto parsed = parse_anthropic_messages(body, {});
  const auto* error = std::get_if<ApiError>(&parsed);
  EXPECT_EQ(error, nullptr) << (error ? error->message : "") << body;
  return error ? ChatRequest{} : std::get<ChatRequest>(parsed);
}
std::string native(const std::string& messages) { return accepted(of_messages(messages)).messages_json; }
// The field that the refusal names.
std::string refused(const std::string& body) {
  auto parsed = parse_anthropic_messages(body, {});
  const auto* error = std::get_if<ApiError>(&parsed);
  if (error == nullptr) return "accepted";
  if (error->status != 400) return "wrong status";
  return error->param.empty() ? error->code : error->param;
}

TEST(AnthropicRequest, ReadsItsFields) {
  const auto request = accepted(with(
      R"("stream":true,"stop_sequences":["a","b"],"temperature":0.5,"top_p":0.9,"top_k":7,)"
      R"("chat_template_kwargs":{"k":1})"));
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(request.max_tokens, 9U);
  EXPECT_TRUE(request.is_stream);
  EXPECT_EQ(request.stop_strings, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_EQ(request.sampling.top_p, 0.9);
  EXPECT_EQ(request.sampling.top_k, 7U);
  EXPECT_EQ(request.template_kwargs_json, R"({"k":1})");
  EXPECT_EQ(request.num_choices, 1U);
  EXPECT_EQ(request.messages_json, R"([{"role":"user","content":"hi"}])");
}

TEST(AnthropicRequest, WhatClaudeCodeSendsBesideIsIgnored) {
  accepted(with(
      R"("metadata":{"user_id":"u"},"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},)"
      R"("context_management":{"edits":[{"type":"clear_thinking_20251015"}]},"service_tier":"auto",)"
      R"("betas":["x"],"tool_choice":{"type":"auto","disable_parallel_tool_use":true},"mcp_servers":[],)"
      R"("container":null,"cache_control":{"type":"ephemeral"},"whatever":[1])"));
  EXPECT_FALSE(accepted(of_messages(R"({"role":"user","content":"x"})")).max_tokens);
}

TEST(AnthropicRequest, TheSystemPromptIsTheFirstMessage) {
  const auto system_of = [](const std::string& system) {
    return accepted(with(cat("\"system\":", system))).messages_json;
  };
  const auto native_of = [](const std::string& text) {
    return cat(R"([{"role":"system","content":")", text, R"("},{"role":"user","content":"hi"}])");
  };
  EXPECT_EQ(system_of("\"be brief\""), native_of("be brief"));
  EXPECT_EQ(system_of(R"([{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":"b"}])"),
            native_of("a\\nb"));
  // Claude Code's billing line, as a block of its own and as a first line.
  EXPECT_EQ(system_of(R"([{"type":"text","text":"x-anthropic-billing-header: v=1; h=8f2;"},{"type":"text","text":"b"}])"),
            native_of("b"));
  EXPECT_EQ(system_of(R"("x-anthropic-billing-header: v=1;\nb")"), native_of("b"));
  for (const auto* nothing : {"null", "\"\"", "[]", R"([{"type":"text","text":""}])",
                              R"("x-anthropic-billing-header: v=1;")"})
    EXPECT_EQ(system_of(nothing), R"([{"role":"user","content":"hi"}])") << nothing;
}

TEST(AnthropicRequest, SystemMessagesStayWhereTheyAre) {
  const auto* after = R"([{"role":"user","content":"a"},{"role":"system","content":"s"}])";
  EXPECT_EQ(native(R"({"role":"user","content":"a"},{"role":"system","content":"s"})"), after);
  // Claude Code sends the same one as a list first and as a string a call later.
  EXPECT_EQ(native(R"({"role":"user","content":"a"},{"role":"system","content":[{"type":"text","text":"s"}]})"), after);
}

TEST(AnthropicRequest, AToolTurnBecomesCallsAndToolMessages) {
  EXPECT_EQ(
      native(R"({"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},)"
             R"({"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},)"
             R"({"type":"redacted_thinking","data":"x"},{"type":"text","text":"on it"},)"
             R"({"type":"tool_use","id":"t1","name":"f","input":{"z":1,"a":"\u00e9"}},)"
             R"({"type":"tool_use","id":"t2","name":"g"}]},)"
             R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"one"},)"
             R"({"type":"tool_result","tool_use_id":"t2","is_error":true,"cache_control":{"type":"ephemeral"},)"
             R"("content":[{"type":"text","text":"two"},{"type":"tool_reference","tool_name":"h"}]},)"
             R"({"type":"text","text":"go on"}]})"),
      "[{\"role\":\"user\",\"content\":\"a\\nb\"},"
      "{\"role\":\"assistant\",\"content\":\"on it\",\"reasoning_content\":\"hm\",\"tool_calls\":["
      "{\"id\":\"t1\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"z\\\":1,\\\"a\\\":\\\"\xc3\xa9\\\"}\"}},"
      "{\"id\":\"t2\",\"type\":\"function\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}}]},"
      "{\"role\":\"tool\",\"content\":\"one\",\"tool_call_id\":\"t1\"},"
      "{\"role\":\"tool\",\"content\":\"two\\nh\",\"tool_call_id\":\"t2\"},"
      "{\"role\":\"user\",\"content\":\"go on\"}]");
}

TEST(AnthropicRequest, ResultsAndTextsKeepTheirOrder) {
  EXPECT_EQ(native(R"({"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_result","tool_use_id":"t"},)"
                   R"({"type":"text","text":"b"}]})"),
            R"([{"role":"user","content":"a"},{"role":"tool","content":"","tool_call_id":"t"},)"
            R"({"role":"user","content":"b"}])");
  EXPECT_EQ(native(R"({"role":"user","content":[]})"), R"([{"role":"user","content":""}])");
}

TEST(AnthropicRequest, TextAndBlocksAreTheSame) {
  const auto as = [](const std::string& content) {
    return native(cat(R"({"role":"user","content":"q"},{"role":"assistant","content":)", content,
                      R"(},{"role":"user","content":"r"})"));
  };
  EXPECT_EQ(as("\"yo\""), as(R"([{"type":"text","text":"yo","citations":null}])"));
  EXPECT_EQ(as("\"\""), as("[]"));
}

TEST(AnthropicRequest, ToolsBecomeFunctions) {
  const auto tools_of = [](const std::string& tools) {
    return accepted(with(cat("\"tools\":[", tools, "]"))).tools_json;
  };
  EXPECT_EQ(tools_of(R"({"name":"f","description":"d","input_schema":{"type":"object","z":1,"a":2},)"
                     R"("cache_control":{"type":"ephemeral"},"strict":true},{"type":"custom","name":"g","defer_loading":true})"),
            R"([{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object","z":1,"a":2}}},)"
            R"({"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{}}}}])");
  EXPECT_EQ(tools_of(""), "");
  EXPECT_EQ(tools_of(R"({"type":"web_search_20250305","name":"web_search"})"), "");   // nobody here runs it
  EXPECT_EQ(refused(with(R"("tools":[{"type":"bash_20250124","name":"bash"}])")), "tools[0]");
  EXPECT_EQ(refused(with(R"("tools":[{"name":"f"},{"description":"d"}])")), "tools[1]");
  EXPECT_EQ(refused(with(R"("tools":[{"name":"f","input_schema":7}])")), "tools[0].input_schema");
  EXPECT_EQ(refused(with(R"("tools":{})")), "tools");
}

TEST(AnthropicRequest, WhatIsNotTextIsRefusedByName) {
  EXPECT_EQ(refused(of_user(R"({"type":"image","source":{}})")), "messages[0].content[0]");
  const auto* inside = R"({"type":"text","text":"x"},{"type":"tool_result","tool_use_id":"t","content":[{"type":"image"}]})";
  EXPECT_EQ(refused(of_user(inside)), "messages[0].content[1].content[0]");
  auto parsed = parse_anthropic_messages(of_user(R"({"type":"image"})"), {});
  EXPECT_NE(std::get<ApiError>(parsed).message.find("an image"), std::string::npos);
  parsed = parse_anthropic_messages(of_user(R"({"type":"document"})"), {});
  EXPECT_NE(std::get<ApiError>(parsed).message.find("a document"), std::string::npos);
  parsed = parse_anthropic_messages(of_user(R"({"type":"sesame"})"), {});
  EXPECT_EQ(std::get<ApiError>(parsed).message.find("sesame"), std::string::npos);
}

TEST(AnthropicRequest, SaysWhatTheReplyMustBe) {
  const auto* format = R"({"format":{"type":"json_schema","schema":{"type":"null"}}})";
  EXPECT_EQ(accepted(with(cat("\"output_config\":", format))).form.text, R"({"type":"null"})");
  const std::string tools = R"("tools":[{"name":"f","input_schema":{"type":"object"},"strict":true}],"tool_choice":)";
  const auto any = accepted(with(tools + R"({"type":"any","disable_parallel_tool_use":true})"));
  EXPECT_TRUE(any.forced_call.is_forced && any.forced_call.names.empty());
  EXPECT_FALSE(any.allows_several_calls);
  EXPECT_EQ(any.strict_tools, std::vector<std::string>{"f"});
  const auto named = accepted(with(tools + R"({"type":"tool","name":"f"})"));
  EXPECT_EQ(named.forced_call.names, std::vector<std::string>{"f"});
  EXPECT_EQ(refused(with(tools + R"({"type":"tool","name":"g"})")), "tool_choice");
}

TEST(AnthropicRequest, WrongValuesAreRefusedByName) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("tool_choice":{"type":"any"})", "tool_choice"},
      {R"("tool_choice":{"type":"tool","name":"f"})", "tool_choice"},
      {R"("tool_choice":"auto")", "tool_choice"},
      {R"("output_config":{"format":{"type":"json_schema"}})", "output_config.format.schema"},
      {R"("output_config":{"format":{"type":"json_object"}})", "output_config.format"},
      {R"("output_format":{"type":"json_schema"})", "output_format.schema"},
      {R"("mcp_servers":[{"type":"url"}])", "mcp_servers"},
      {R"("stop_sequences":[""])", "stop_sequences"},
      {R"("stop_sequences":7)", "stop_sequences"},
      {R"("temperature":-1)", "temperature"},
      {R"("top_p":0)", "top_p"},
      {R"("top_k":-1)", "top_k"},
      {R"("stream":"yes")", "stream"},
      {R"("system":7)", "system"},
      {R"("system":[{"type":"text"}])", "system[0]"},
  };
  for (const auto& [more, name] : cases) EXPECT_EQ(refused(with(more)), name) << more;
  EXPECT_EQ(refused(R"({"max_tokens":0,"messages":[{"role":"user","content":"x"}]})"), "max_tokens");
}

TEST(AnthropicRequest, BodiesThatAreNotRequests) {
  for (const auto* body : {"", "{", "[]", "null", "\xff\xfe"}) EXPECT_EQ(refused(body), "invalid_json") << body;
  for (const auto* body : {"{}", "{\"messages\":[]}", "{\"messages\":\"hi\"}"}) EXPECT_EQ(refused(body), "messages");
  EXPECT_EQ(refused(of_messages("5")), "messages[0]");
  EXPECT_EQ(refused(of_messages(R"({"role":"alien","content":"x"})")), "messages[0].role");
  EXPECT_EQ(refused(of_messages(R"({"content":"x"})")), "messages[0].role");
  EXPECT_EQ(refused(of_messages(R"({"role":"user","content":7})")), "messages[0].content");
  for (const auto* block : {"5", R"({"text":"x"})", R"({"type":"text"})", R"({"type":"tool_result"})",
                            R"({"type":"tool_use","id":"a","name":"f"})"})
    EXPECT_EQ(refused(of_user(block)), "messages[0].content[0]") << block;
}

TEST(AnthropicRequest, AReplyIsNotGoneOnWithButMayBeCounted) {
  const auto body = of_messages(R"({"role":"user","content":"x"},{"role":"assistant","content":"On"})");
  EXPECT_EQ(refused(body), "messages");
  EXPECT_TRUE(std::holds_alternative<ChatRequest>(parse_anthropic_count(body, {})));
}

TEST(AnthropicRequest, TheRecordHasWhatWasSent) {
  const auto request = accepted(with(R"("system":[{"type":"text","text":"s","cache_control":{}}])"));
  EXPECT_EQ(request.sent_messages_json,
            R"([{"role":"system","content":[{"type":"text","text":"s","cache_control":{}}]},)"
            R"({"role":"user","content":"hi"}])");
}

// https://docs.claude.com/en/api/errors
TEST(AnthropicErrors, TypesAreNamedByStatus) {
  const std::vector<std::pair<int, std::string>> cases = {
      {400, "invalid_request_error"}, {401, "authentication_error"}, {403, "permission_error"},
      {404, "not_found_error"},       {409, "invalid_request_error"}, {413, "request_too_large"},
      {429, "rate_limit_error"},      {500, "api_error"},            {503, "overloaded_error"},
      {504, "timeout_error"},
  };
  for (const auto& [status, type] : cases) {
    ApiError error = invalid_request("no");
    error.status = status;
    const auto body = parse_json(to_json(error, ErrorShape::anthropic));
    EXPECT_EQ(body.size(), 2U);
    EXPECT_EQ(body["type"], "error");
    EXPECT_EQ(body["error"]["type"], type) << status;
    EXPECT_EQ(body["error"]["message"], "no");
    EXPECT_EQ(status_in(ErrorShape::anthropic, error), status == 503 ? 529 : status);
    EXPECT_EQ(status_in(ErrorShape::openai, error), status);
  }
}
}  // namespace
}  // namespace corisco::gateway
