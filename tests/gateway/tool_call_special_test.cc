// Families whose markers are special tokens: DeepSeek V3.2's DSML, Kimi K2's sections, Gemma's calls. Replies are
// in the forms of their chat templates and of what their makers' parsers accept; expected JSON by hand.
#include "gateway/every_split.h"

namespace corisco::gateway::tool_calls::testing {
namespace {
const char* const kTools = R"([{"type": "function", "function": {"name": "edit", "parameters": {"properties": {
  "path": {"type": "string"}, "line": {"type": "integer"}}}}}, {"type": "function", "function": {"name": "ls",
  "parameters": {"properties": {"dir": {"type": "string"}, "all": {"type": "boolean"}}}}}])";

void expect_call(const Seen& seen, const std::string& name, const std::string& arguments) {
  ASSERT_EQ(seen.calls.size(), 1U) << seen.log;
  EXPECT_EQ(seen.calls[0].name, name);
  EXPECT_EQ(seen.calls[0].arguments, arguments);
  EXPECT_FALSE(seen.calls[0].is_broken);
  EXPECT_EQ(seen.all_text, "") << seen.log;
  EXPECT_TRUE(seen.errors.empty()) << seen.log;
}

std::string dsml(const std::string& text, const std::string& space = "") {
  std::string all;
  for (const char c : text) {
    if (c == '@') all += "｜DSML｜" + space;
    else all += c;
  }
  return all;
}
std::string invoke(const std::string& name, const std::string& body) {
  return "<@invoke name=\"" + name + "\">\n" + body + "</@invoke>\n";
}
std::string section(const std::string& calls, const std::string& word = "function_calls") {
  return "<@" + word + ">\n" + calls + "</@" + word + ">";
}
std::string parameter(const std::string& key, const std::string& flag, const std::string& value) {
  return "<@parameter name=\"" + key + "\" string=\"" + flag + "\">" + value + "</@parameter>\n";
}

struct Value {
  const char* flag;
  const char* written;
  const char* json;
};
constexpr Value kValues[] = {
    {"true", "a \"b\"\n\\ é", R"("a \"b\"\n\\ é")"},
    {"true", "\n5\n", R"("\n5\n")"},
    {"true", "", R"("")"},
    {"true", "x</@parameter> y", R"("x</@parameter> y")"},
    {"false", "5", "5"},
    {"false", " [1, {\"a\": null}] ", R"([1, {"a": null}])"},
    {"false", "True", "true"},
    {"false", "word", R"("word")"},
};

TEST(DeepseekV32, AValueIsWhatItsFlagSays) {
  for (const auto& value : kValues) {
    const auto reply = dsml(section(invoke("any", parameter("line", value.flag, value.written))));
    const auto arguments = dsml(R"({"line": )" + std::string(value.json) + "}");
    expect_call(read_every_way(maker("deepseek_v32", kTools), reply), "any", arguments);
  }
}

TEST(DeepseekV32, WithoutAFlagTheSchemaSays) {
  const auto both = "<@parameter name=\"path\">5</@parameter><@parameter name=\"line\" >5</@parameter>";
  expect_call(read_every_way(maker("deepseek_v32", kTools), dsml(section(invoke("edit", both)))), "edit",
              R"({"path": "5", "line": 5})");
}

TEST(DeepseekV32, EachDialectAndEachBody) {
  const auto make = maker("deepseek_v32", kTools);
  const auto one = invoke("ls", parameter("dir", "true", "."));
  for (const char* word : {"function_calls", "tool_calls"})
    expect_call(read_every_way(make, dsml("\n\n" + section(one, word))), "ls", R"({"dir": "."})");
  expect_call(read_every_way(make, dsml("\n\n" + section(one, "calls"), " ")), "ls", R"({"dir": "."})");
  expect_call(read_every_way(make, dsml(one)), "ls", R"({"dir": "."})");
  expect_call(read_every_way(make, dsml(section(invoke("ls", "{ \"dir\": \"<@x>\" }\n")))), "ls",
              dsml(R"({ "dir": "<@x>" })"));
  expect_call(read_every_way(make, dsml(section(invoke("nobody", "")))), "nobody", "{}");
  expect_call(read_every_way(make, dsml(section("<@invoke name=\"ls\"/>\n"))), "ls", "{}");
  expect_call(read_every_way(make, dsml(section("<@invoke name=\"ls\" />"))), "ls", "{}");
  const auto open = "<@tool_calls><@invoke name=\"ls\">" + parameter("dir", "true", ".") + "</@tool_calls>";
  expect_call(read_every_way(make, dsml(open)), "ls", R"({"dir": "."})");
}

TEST(DeepseekV32, SeveralCallsWithTextAround) {
  const auto calls = invoke("ls", parameter("all", "false", "true")) + invoke("f", "{}");
  const auto reply = "Hm <b>.\n\n" + section(calls) + "\nend";
  EXPECT_EQ(read_every_way(maker("deepseek_v32", kTools), dsml(reply)).log,
            "\ntext: Hm <b>.\n\n\nbegin 0: ls\narguments 0: {\"all\": true}\nend 0: \nbegin 1: f\narguments 1: {}"
            "\nend 1: \ntext: \nend");
}

TEST(DeepseekV32, MalformedIsTextAndOthersStay) {
  const auto good = dsml(invoke("ls", ""));
  for (const auto* bad : {"<@function_calls>\nword", "<@invoke>", "<@invoke name=\"a b\">",
                          "<@invoke name=\"ls\">\nword",
                          "<@invoke name=\"f\">{\"a\": }</@invoke>", "<@invoke name=\"f\"><@parameter key=\"a\">",
                          "</@function_calls>"}) {
    const auto seen = read_every_way(maker("deepseek_v32", kTools), dsml(bad) + good);
    EXPECT_EQ(seen.all_text, dsml(bad)) << seen.log;
    EXPECT_GE(seen.errors.size(), 1U) << bad;
    ASSERT_FALSE(seen.calls.empty()) << seen.log;
    EXPECT_EQ(seen.calls.back().name, "ls");
    EXPECT_FALSE(seen.calls.back().is_broken);
  }
  const auto both = parameter("path", "true", "a") + parameter("line", "false", "1");
  const auto whole = "ok" + dsml(section(invoke("edit", both)));
  const auto end = whole.find(dsml("</@invoke>")) + dsml("</@invoke>").size();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto seen = read_cut(maker("deepseek_v32", kTools), whole.substr(0, size), {});
    const bool has_call = !seen.calls.empty() && !seen.calls[0].is_broken;
    EXPECT_EQ(has_call, size >= end);
    if (!has_call) { EXPECT_EQ(seen.all_text, whole.substr(0, size)) << seen.log; }
  }
}

std::string kimi(const std::string& id, const std::string& arguments) {
  return "<|tool_call_begin|>" + id + "<|tool_call_argument_begin|>" + arguments + "<|tool_call_end|>";
}
std::string kimi_section(const std::string& calls) {
  return "<|tool_calls_section_begin|>" + calls + "<|tool_calls_section_end|>";
}
std::vector<std::string> ids_of(const std::string& reply) {
  const auto parser = maker("kimi_k2", kTools)();
  auto events = parser->push(reply);
  for (auto& event : parser->finish()) events.push_back(event);
  std::vector<std::string> ids;
  for (const auto& event : events)
    if (event.kind == Event::Kind::call_begin) ids.push_back(event.id);
  return ids;
}

TEST(KimiK2, TheIdNamesTheTool) {
  const auto make = maker("kimi_k2", kTools);
  for (const char* id : {"functions.ls:0", "ls:12", "functions.ls", " functions.ls:3 ", "ls"})
    expect_call(read_every_way(make, kimi_section(kimi(id, R"({"dir":  "<é>"})"))), "ls", R"({"dir":  "<é>"})");
  expect_call(read_every_way(make, kimi("functions.my.tool:0", "{}")), "my.tool", "{}");
  expect_call(read_every_way(make, kimi("functions.a:b:0", "{}")), "a:b", "{}");
  EXPECT_EQ(ids_of(kimi_section(kimi("functions.ls:4", "{}") + kimi("ls", "{}"))),
            (std::vector<std::string>{"functions.ls:4", "ls"}));
}

TEST(KimiK2, AnIndexAloneIsNamedByItsArguments) {
  const auto make = maker("kimi_k2", kTools);
  expect_call(read_every_way(make, kimi_section(kimi("3", R"({"dir": ".", "all": true})"))), "ls",
              R"({"dir": ".", "all": true})");
  EXPECT_EQ(ids_of(kimi("3", R"({"line": 1})")), std::vector<std::string>{"3"});
  const auto of_one = maker("kimi_k2", R"([{"name": "only", "input_schema": {}}])");
  expect_call(read_every_way(of_one, kimi("0", "{}")), "only", "{}");
  for (const char* arguments : {"{}", R"({"what": 1})", R"({"dir": ".", "line": 1})"}) {
    const auto reply = kimi("0", arguments);
    const auto seen = read_every_way(make, reply);
    EXPECT_TRUE(seen.calls.empty()) << seen.log;
    EXPECT_EQ(seen.all_text, reply);
    EXPECT_EQ(seen.errors.size(), 1U);
  }
}

TEST(KimiK2, SeveralCallsMalformedOnesAndCutOnes) {
  const auto make = maker("kimi_k2", kTools);
  const auto two = kimi_section(kimi("functions.ls:0", "{}") + "\n" + kimi("functions.edit:1", R"({"line": 1})"));
  EXPECT_EQ(read_every_way(make, "So:" + two + " ").log,
            "\ntext: So:\nbegin 0: ls\narguments 0: {}\nend 0: \nbegin 1: edit\narguments 1: {\"line\": 1}\nend 1: ");
  for (const std::string bad : {"<|tool_call_begin|>functions.ls:0<|tool_call_end|>", "<|tool_calls_section_begin|>x",
                                "<|tool_call_begin|><|tool_call_argument_begin|>{}", "<|tool_call_begin|>functions.:0<",
                                "<|tool_call_begin|>functions.ls:0<|tool_call_argument_begin|>[]"}) {
    const auto seen = read_every_way(make, bad + kimi("functions.ls:0", "{}"));
    EXPECT_EQ(seen.all_text, bad) << seen.log;
    EXPECT_GE(seen.errors.size(), 1U) << bad;
    ASSERT_FALSE(seen.calls.empty()) << seen.log;
    EXPECT_EQ(seen.calls.back().name, "ls");
  }
  const std::string cut = "<|tool_call_begin|>functions.ls:0<|tool_call_argument_begin|>{\"dir\": \"";
  EXPECT_EQ(read_every_way(make, cut).broken_text, cut);
  EXPECT_EQ(read_every_way(make, "<|tool_call_begin|>functions.ls:0<|tool_call_argument_begin|>{}").calls.size(), 1U);
}

std::string gemma4(const std::string& call) { return "<|tool_call>call:" + call + "<tool_call|>"; }

struct GemmaValue {
  const char* written;
  const char* json;
};
constexpr GemmaValue kGemmaValues[] = {
    {R"(<|"|>a "b" {x},]:
é<|"|>)", R"("a \"b\" {x},]:\né")"},
    {R"(<|"|><|"|>)", R"("")"},
    {"1", "1"},
    {" -2.5 ", "-2.5"},
    {"true", "true"},
    {"None", "null"},
    {"null", "null"},
    {"plain words", R"("plain words")"},
    {R"("json \"quoted\", text")", R"("json \"quoted\", text")"},
    {R"([1,<|"|>a]<|"|>,[],{}])", R"([1, "a]", [], {}])"},
    {R"({a:{b:<|"|>c<|"|>},d:[{e:false}]})", R"({"a": {"b": "c"}, "d": [{"e": false}]})"},
    {R"({<|"|>a b<|"|>:1})", R"({"a b": 1})"},
};

TEST(Gemma, ValuesByTheirForm) {
  for (const auto& value : kGemmaValues)
    expect_call(read_every_way(maker("gemma"), gemma4("f{v:" + std::string(value.written) + "}")), "f",
                "{\"v\": " + std::string(value.json) + "}");
}

TEST(Gemma, BothFormsSeveralCallsAndNone) {
  const auto make = maker("gemma");
  const auto call = "<start_function_call>call:f{city:<escape>Paris, {TX}<escape>,n:3}<end_function_call>";
  expect_call(read_every_way(make, call), "f", R"({"city": "Paris, {TX}", "n": 3})");
  expect_call(read_every_way(make, gemma4("my.tool-2{}")), "my.tool-2", "{}");
  EXPECT_EQ(read_every_way(make, "Hm.\n" + gemma4("f{a:1}") + gemma4("g{}") + "end").log,
            "\ntext: Hm.\n\nbegin 0: f\narguments 0: {\"a\": 1}\nend 0: \nbegin 1: g\narguments 1: {}"
            "\nend 1: \ntext: end");
  EXPECT_EQ(read_every_way(make, "call:f{a:1}").log, "\ntext: call:f{a:1}");
}

TEST(Gemma, MalformedIsTextAndOthersStay) {
  for (const std::string bad : {"<|tool_call>f{}<tool_call|>", "<|tool_call>call:a b{}<tool_call|>",
                                "<|tool_call>call:f{a}", "<|tool_call>call:f{a:}",
                                "<|tool_call>call:f{a:[1}}", "<|tool_call>call:f{a:1 b:2]",
                                "<|tool_call>call:f{a:<|\"|>x<|\"|>b:2}"}) {
    const auto seen = read_every_way(maker("gemma"), bad + gemma4("g{}"));
    EXPECT_EQ(seen.all_text, bad) << seen.log;
    EXPECT_GE(seen.errors.size(), 1U) << bad;
    ASSERT_FALSE(seen.calls.empty()) << seen.log;
    EXPECT_EQ(seen.calls.back().name, "g");
  }
  const std::string cut = "<|tool_call>call:f{a:<|\"|>never";
  EXPECT_EQ(read_every_way(maker("gemma"), cut).broken_text, cut);
}
}  // namespace
}  // namespace corisco::gateway::tool_calls::testing
