// Families that write a call as JSON: the model's bytes pass through, however they are cut, and a
// call that does not parse is text. Replies as the models' templates and vLLM's parsers have them.
#include "gateway/every_split.h"

namespace corisco::gateway::tool_calls::testing {
namespace {
// A single whole call, and nothing else.
void expect_call(const Seen& seen, const std::string& name, const std::string& arguments) {
  ASSERT_EQ(seen.calls.size(), 1U) << seen.log;
  EXPECT_EQ(seen.calls[0].name, name);
  EXPECT_EQ(seen.calls[0].arguments, arguments);
  EXPECT_FALSE(seen.calls[0].is_broken);
  EXPECT_EQ(seen.text + seen.broken_text, "");
  EXPECT_TRUE(seen.errors.empty()) << seen.log;
}

// Not a byte is lost, and no call is left.
void expect_text(const Seen& seen, const std::string& reply, std::size_t errors) {
  EXPECT_EQ(seen.all_text, reply) << seen.log;
  EXPECT_TRUE(seen.calls.empty()) << seen.log;
  EXPECT_EQ(seen.errors.size(), errors) << seen.log;
}

const char* const kUnicode = R"({"p": "é 😀 \u00e9 \" \\ {[<\/tool_call>", "n": [1.5e-3, {"x": null}]})";

TEST(Hermes, ACall) {
  const auto make = maker("hermes");
  expect_call(read_every_way(make, "<tool_call>\n{\"name\": \"ls\", \"arguments\": {\"path\": \".\"}}\n</tool_call>"),
              "ls", R"({"path": "."})");
  expect_call(read_every_way(make, R"(<tool_call>{"arguments": {"a":1} ,"id":5,"name":"f"}</tool_call>)"), "f",
              R"({"a":1})");
  expect_call(read_every_way(make, R"(<tool_call>{"name": "f", "parameters": {}}</tool_call>)"), "f", "{}");
  const auto reply = std::string(R"(<tool_call>{"name": "f", "arguments": )") + kUnicode + "}</tool_call>";
  expect_call(read_every_way(make, reply), "f", kUnicode);
}

TEST(Hermes, ArgumentsThatAreNoPlainObject) {
  const auto make = maker("hermes");
  expect_call(read_every_way(make, R"(<tool_call>{"name": "f", "arguments": "{\"a\": \"\u00e9\"}"}</tool_call>)"),
              "f", "{\"a\": \"é\"}");
  expect_call(read_every_way(make, R"(<tool_call>{"name": "f", "arguments": null}</tool_call>)"), "f", "{}");
  expect_call(read_every_way(make, R"(<tool_call>{"name": "f"}</tool_call>)"), "f", "{}");
  for (const std::string arguments : {"[1]", "3", "\"no object\"", "true"}) {
    const auto reply = R"(<tool_call>{"name": "f", "arguments": )" + arguments + "}</tool_call>";
    expect_text(read_every_way(make, reply), reply, 1);
  }
}

// vllm issues 21544 and 22885: braces in strings, the last brace.
TEST(Hermes, BracesInStringsDontEndIt) {
  const auto arguments = R"({"command":"mkdir -p test/{test1,test2 && echo '}}' </tool_call>"})";
  const auto reply = std::string(R"(<tool_call>{"name":"sh","arguments":)") + arguments + "}</tool_call>";
  expect_call(read_every_way(maker("hermes"), reply), "sh", arguments);
}

TEST(Hermes, TextAroundSeveralCalls) {
  const auto seen = read_every_way(
      maker("hermes"),
      "Hm: a < b.\n\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>\n<tool_call>\n"
      "{\"name\": \"g\", \"arguments\": {}}\n</tool_call>\nand\n<tool_call>{\"name\": \"h\"}</tool_call>\n");
  EXPECT_EQ(seen.log,
            "\ntext: Hm: a < b.\n\n\nbegin 0: f\narguments 0: {\"a\": 1}\nend 0: \nbegin 1: g\narguments 1: {}"
            "\nend 1: \ntext: \nand\n\nbegin 2: h\narguments 2: {}\nend 2: ");
}

TEST(Hermes, AMalformedCallIsTextAndOthersStay) {
  const auto seen = read_every_way(maker("hermes"),
                                   "<tool_call>{name: f}</tool_call>\n<tool_call>{\"name\": \"g\"}</tool_call>");
  EXPECT_EQ(seen.all_text, "<tool_call>{name: f}</tool_call>\n");
  ASSERT_EQ(seen.calls.size(), 1U);
  EXPECT_EQ(seen.calls[0].name, "g");
  EXPECT_EQ(seen.errors, std::vector<std::string>{"its JSON is not valid"});
}

TEST(Hermes, ACallThatBreaksOffIsMarkedAndItsTextComesToo) {
  const std::string call = R"(<tool_call>{"name": "f", "arguments": {"a": 1,, }}</tool_call>)";
  const auto seen = read_every_way(maker("hermes"), call + R"(<tool_call>{"name": "g"}</tool_call>)");
  ASSERT_EQ(seen.calls.size(), 2U);
  EXPECT_TRUE(seen.calls[0].is_broken);
  EXPECT_EQ(seen.calls[0].arguments, R"({"a": 1,)");
  EXPECT_FALSE(seen.calls[1].is_broken);
  EXPECT_EQ(seen.all_text, call);
}

TEST(Hermes, TruncatedAnywhere) {
  const std::string reply = "ok <tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": \"b\"}}\n</tool_call>";
  const auto whole = reply.find("}}") + 2;
  for (std::size_t size = 0; size < reply.size(); ++size) {
    const auto cut = reply.substr(0, size);
    const auto seen = read_every_way(maker("hermes"), cut);
    const bool has_call = !seen.calls.empty() && !seen.calls[0].is_broken;
    EXPECT_EQ(has_call, size >= whole) << cut;
    EXPECT_EQ(seen.all_text, has_call ? "ok " : cut);
    EXPECT_LE(seen.calls.size(), 1U);
  }
}

TEST(Hermes, WhatFollowsTheJsonIsTextAndAnError) {
  const auto seen = read_every_way(maker("hermes"), R"(<tool_call>{"name": "f"}}</tool_call>)");
  ASSERT_EQ(seen.calls.size(), 1U);
  EXPECT_FALSE(seen.calls[0].is_broken);
  EXPECT_EQ(seen.text, "}</tool_call>");
  EXPECT_EQ(seen.errors.size(), 1U);
}

TEST(Llama3Json, TheWholeReplyIsACall) {
  const auto make = maker("llama3_json");
  expect_call(read_every_way(make, R"({"name": "f", "parameters": {"a": "}; {"}})"), "f", R"({"a": "}; {"})");
  expect_call(read_every_way(make, R"( <|python_tag|>{"name": "f", "parameters": {"a": 1}} )"), "f", R"({"a": 1})");
  const auto seen = read_every_way(make, R"({"name": "f", "parameters": {}}; {"name": "g", "arguments": {"b": [1]}};)"
                                         R"({"name": "h", "parameters": {}}; ok)");
  ASSERT_EQ(seen.calls.size(), 3U) << seen.log;
  EXPECT_EQ(seen.calls[1].arguments, R"({"b": [1]})");
  EXPECT_EQ(seen.text, "; ok");
}

TEST(Llama3Json, AnAnswerInJsonIsNoCallAndNoError) {
  for (const std::string reply :
       {R"({"name": "Bob", "age": 3})", R"({"a": )", "{not JSON}", "", "  ", R"(So: {"name": "f", "parameters": {}})"})
    expect_text(read_every_way(maker("llama3_json"), reply), reply, 0);
  const std::string code = "<|python_tag|>import os\nprint({})";
  expect_text(read_every_way(maker("llama3_json"), code), code, 1);
}

TEST(Llama3Json, Broken) {
  const std::string reply = R"({"name": "f", "parameters": {"a": "b)";
  const auto seen = read_every_way(maker("llama3_json"), reply);
  ASSERT_EQ(seen.calls.size(), 1U);
  EXPECT_TRUE(seen.calls[0].is_broken);
  EXPECT_EQ(seen.broken_text, reply);
  EXPECT_EQ(seen.errors, std::vector<std::string>{"the reply ends inside the call"});
}

TEST(Mistral, BothForms) {
  const auto make = maker("mistral");
  expect_call(read_every_way(make, R"([TOOL_CALLS][{"name": "f", "arguments": {"a": "]"}}])"), "f", R"({"a": "]"})");
  expect_call(read_every_way(make, R"([TOOL_CALLS] {"name": "f", "arguments": {}})"), "f", "{}");
  expect_call(read_every_way(make, R"([TOOL_CALLS]f[ARGS]{"a": [1, "é"]})"), "f", R"({"a": [1, "é"]})");
  expect_call(read_every_way(make, R"([TOOL_CALLS]f[CALL_ID]123456789[ARGS]{"a": 1})"), "f", R"({"a": 1})");
  expect_call(read_every_way(make, R"([TOOL_CALLS]f{"a": 1})"), "f", R"({"a": 1})");
}

TEST(Mistral, SeveralAndText) {
  const auto make = maker("mistral");
  const auto old = read_every_way(
      make, R"(Hm [1] [TOOL_CALLS] [{"name": "f", "arguments": {}}, {"name": "g", "arguments": {"a": 2}}] end)");
  EXPECT_EQ(old.log, "\ntext: Hm [1] \nbegin 0: f\narguments 0: {}\nend 0: \nbegin 1: g\narguments 1: {\"a\": 2}"
                     "\nend 1: \ntext:  end");
  const auto now = read_every_way(make, R"(Hm[TOOL_CALLS]f[ARGS]{"a": 1}[TOOL_CALLS]g[ARGS]{})");
  EXPECT_EQ(now.text, "Hm");
  ASSERT_EQ(now.calls.size(), 2U);
  EXPECT_EQ(now.calls[1].name, "g");
}

TEST(Mistral, Malformed) {
  const auto make = maker("mistral");
  for (const std::string reply : {"[TOOL_CALLS]", "[TOOL_CALLS] I would call f", "[TOOL_CALLS]f[ARGS]none",
                                  "[TOOL_CALLS][]", "[TOOL_CALLS][ARGS]{}", "[TOOL_CALLS]f[ARG", "[TOOL_CALLS]f[X]{}"})
    expect_text(read_every_way(make, reply), reply, 1);
  const auto seen = read_every_way(make, R"([TOOL_CALLS][{"name": "f", "arguments": {}}, {"name": 3}] x)");
  EXPECT_EQ(seen.calls.size(), 1U);
  EXPECT_EQ(seen.all_text, R"(, {"name": 3}] x)");
  const auto cut = read_every_way(make, R"([TOOL_CALLS]f[ARGS]{"a": "b)");
  EXPECT_TRUE(cut.calls.at(0).is_broken);
  EXPECT_EQ(cut.broken_text, R"([TOOL_CALLS]f[ARGS]{"a": "b)");
}

std::string v3_call(const std::string& name, const std::string& arguments) {
  return "<｜tool▁call▁begin｜>function<｜tool▁sep｜>" + name + "\n```json\n" + arguments +
         "\n```<｜tool▁call▁end｜>";
}
std::string section(const std::string& calls) {
  return "<｜tool▁calls▁begin｜>" + calls + "<｜tool▁calls▁end｜>";
}

TEST(DeepseekV3, BothForms) {
  const auto make = maker("deepseek_v3");
  const std::string arguments = R"({"a": "```", "b": "é｜"})";
  expect_call(read_every_way(make, section(v3_call("f", arguments))), "f", arguments);
  expect_call(read_every_way(maker("deepseek_v31"),
                             section("<｜tool▁call▁begin｜>f<｜tool▁sep｜>{\"a\": 1}<｜tool▁call▁end｜>")),
              "f", R"({"a": 1})");
  const auto two = section(v3_call("f", "{}") + "\n" + v3_call("g", R"({"a": 1})"));
  const auto seen = read_every_way(make, "Hm ＜a\n" + two + " end");
  EXPECT_EQ(seen.log, "\ntext: Hm ＜a\n\nbegin 0: f\narguments 0: {}\nend 0: \nbegin 1: g\narguments 1: {\"a\": 1}"
                      "\nend 1: \ntext:  end");
}

TEST(DeepseekV3, Malformed) {
  const auto make = maker("deepseek_v3");
  expect_text(read_every_way(make, section("none")), section("none"), 2);   // its end is stray too
  expect_text(read_every_way(make, "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁s"),
              "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁s", 1);
  const auto seen = read_every_way(make, section(v3_call("f", "[1]") + v3_call("g", "{}")));
  ASSERT_EQ(seen.calls.size(), 1U) << seen.log;
  EXPECT_EQ(seen.calls[0].name, "g");
  EXPECT_EQ(seen.all_text, "<｜tool▁calls▁begin｜>" + v3_call("f", "[1]"));
}
}  // namespace
}  // namespace corisco::gateway::tool_calls::testing
