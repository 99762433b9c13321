// Families that write a call as tags or as Python: values become JSON by the tool's schema.
// Expected JSON as Python's json.dumps(ensure_ascii=False) writes it.
#include "gateway/tool_calls/argument_values.h"
#include "gateway/every_split.h"

namespace corisco::gateway::tool_calls::testing {
namespace {
const char* const kTools = R"([{"type": "function", "function": {"name": "edit", "parameters": {
  "$defs": {"Range": {"type": "object"}},
  "properties": {"path": {"type": "string"}, "line": {"type": "integer"}, "all": {"type": "boolean"},
    "tags": {"type": "array"}, "note": {"type": ["string", "null"]}, "any": {"anyOf": [{"type": "string"},
    {"type": "number"}]}, "range": {"$ref": "#/$defs/Range"}, "mode": {"enum": ["1", "2"]}}}}},
  {"name": "other", "input_schema": {"properties": {"n": {"type": "number"}}}}, 7])";

std::string parameter(const std::string& key, const std::string& value) {
  return "<parameter=" + key + ">\n" + value + "\n</parameter>\n";
}
std::string function(const std::string& name, const std::string& parameters) {
  return "<tool_call>\n<function=" + name + ">\n" + parameters + "</function>\n</tool_call>";
}
std::string glm_argument(const std::string& key, const std::string& value) {
  return "<arg_key>" + key + "</arg_key>\n<arg_value>" + value + "</arg_value>\n";
}

void expect_call(const Seen& seen, const std::string& name, const std::string& arguments) {
  ASSERT_EQ(seen.calls.size(), 1U) << seen.log;
  EXPECT_EQ(seen.calls[0].name, name);
  EXPECT_EQ(seen.calls[0].arguments, arguments);
  EXPECT_FALSE(seen.calls[0].is_broken);
  EXPECT_EQ(seen.all_text, "");
  EXPECT_TRUE(seen.errors.empty()) << seen.log;
}

struct ValueCase {
  const char* key;
  const char* written;
  const char* json;
};
constexpr ValueCase kValues[] = {
    {"path", "a \"b\" \\ é\t😀", R"("a \"b\" \\ é\t😀")"},
    {"path", "\n  x\n\n", R"("\n  x\n\n")"},
    {"path", "", R"("")"},
    {"path", "null", R"("null")"},
    {"path", "if a </parameter> b <parameter=c", R"("if a </parameter> b <parameter=c")"},
    {"line", "12", "12"},
    {"line", " 12 ", "12"},
    {"line", "2026-01-15", R"("2026-01-15")"},          // mlx-lm issue 1310
    {"line", "null", R"("null")"},
    {"all", "True", "true"},
    {"all", "maybe", R"("maybe")"},
    {"tags", R"([1, {"a":  2}])", R"([1, {"a":  2}])"},
    {"tags", "['a', None, (1,)]", R"(["a", null, [1]])"},
    {"tags", "[1,", R"("[1,")"},
    {"note", "null", "null"},
    {"note", "5", R"("5")"},
    {"any", "5", "5"},
    {"any", "true", R"("true")"},
    {"range", R"({"a": 1})", R"({"a": 1})"},
    {"mode", "1", R"("1")"},
    {"unknown", "5", R"("5")"},
};

TEST(Qwen3Coder, ValuesByTheirSchema) {
  for (const auto& value : kValues) {
    const auto reply = function("edit", parameter(value.key, value.written));
    const auto seen = read_every_way(maker("qwen3_coder", kTools), reply);
    expect_call(seen, "edit", std::string("{\"") + value.key + "\": " + value.json + "}");
  }
}

TEST(Qwen3Coder, SeveralParametersNoneAndAnUnknownTool) {
  const auto make = maker("qwen3_coder", kTools);
  const auto three = parameter("path", "x") + parameter("line", "3") + parameter("all", "false");
  expect_call(read_every_way(make, function("edit", three)), "edit", R"({"path": "x", "line": 3, "all": false})");
  expect_call(read_every_way(make, function("edit", "")), "edit", "{}");
  expect_call(read_every_way(make, function("nobody", parameter("n", "1"))), "nobody", R"({"n": "1"})");
  expect_call(read_every_way(make, function("other", parameter("n", "1"))), "other", R"({"n": 1})");
  const auto line = "<function=edit>\n" + parameter("line", "1");
  expect_call(read_every_way(make, line + "</function>"), "edit", R"({"line": 1})");
  expect_call(read_every_way(make, "<tool_call>\n" + line + "</tool_call>"), "edit", R"({"line": 1})");
}

TEST(Qwen3Coder, TextAroundSeveralCalls) {
  const auto two = "<tool_call><function=f></function>\n<function=g></function>\n</tool_call>";
  const auto seen = read_every_way(maker("qwen3_coder", kTools),
                                   "a <b>\n" + function("edit", parameter("line", "1")) + "\n" + two + "\n\nend\n");
  EXPECT_EQ(seen.log, "\ntext: a <b>\n\nbegin 0: edit\narguments 0: {\"line\": 1}\nend 0: \nbegin 1: f\narguments 1: {}"
                      "\nend 1: \nbegin 2: g\narguments 2: {}\nend 2: \ntext: \n\nend\n");
}

TEST(Qwen3Coder, MalformedIsTextAndOthersStay) {
  const auto good = function("edit", parameter("line", "1"));
  for (const std::string bad : {"<tool_call>{\"name\": \"edit\"}</tool_call>",
                                "<tool_call>\n<function=>\n</function></tool_call>",
                                "<tool_call>\n<function=edit>\nword</function></tool_call>"}) {
    const auto seen = read_every_way(maker("qwen3_coder", kTools), bad + good);
    EXPECT_EQ(seen.all_text, bad) << seen.log;
    ASSERT_EQ(seen.calls.size(), 1U) << seen.log;
    EXPECT_GE(seen.errors.size(), 1U);
  }
}

// vllm issue 55495: no broken JSON passes for a whole call.
TEST(Qwen3Coder, TruncatedAnywhere) {
  const auto reply = "ok" + function("edit", parameter("path", "a\nb") + parameter("tags", "[1]"));
  const auto whole = reply.find("</function>") + std::string("</function>").size();
  for (std::size_t size = 0; size < reply.size(); ++size) {
    const auto seen = read_every_way(maker("qwen3_coder", kTools), reply.substr(0, size));
    const bool has_call = !seen.calls.empty() && !seen.calls[0].is_broken;
    EXPECT_EQ(has_call, size >= whole);
    EXPECT_EQ(seen.all_text, has_call ? "ok" : reply.substr(0, size)) << seen.log;
    if (!seen.calls.empty()) { EXPECT_EQ(seen.text, "ok") << seen.log; }   // the rest is the call's
    EXPECT_LE(seen.calls.size(), 1U) << seen.log;
  }
}

TEST(Glm45, Calls) {
  const auto make = maker("glm45", kTools);
  const auto two = glm_argument("path", " a\n\"é\" ") + glm_argument("line", "3");
  expect_call(read_every_way(make, "<tool_call>edit\n" + two + "</tool_call>"), "edit",
              R"({"path": " a\n\"é\" ", "line": 3})");
  expect_call(read_every_way(make, "<tool_call>edit<arg_key>all</arg_key><arg_value>true</arg_value></tool_call>"),
              "edit", R"({"all": true})");
  expect_call(read_every_way(make, "<tool_call>edit\\n" + glm_argument("new", "{\"a\": 1}") + "</tool_call>"), "edit",
              R"({"new": {"a": 1}})");
  expect_call(read_every_way(make, "<tool_call>nobody</tool_call>"), "nobody", "{}");
  expect_call(read_every_way(make, "<tool_call>f\n" + glm_argument("a", "x </arg_value> y") + "</tool_call>"), "f",
              R"({"a": "x </arg_value> y"})");
}

TEST(Glm45, TextSeveralAndMalformed) {
  const auto one = "<tool_call>f\n" + glm_argument("a", "1") + "</tool_call>";
  const auto seen = read_every_way(maker("glm45", kTools), "Hm\n" + one + "\n<tool_call>g</tool_call>\nend");
  EXPECT_EQ(seen.log, "\ntext: Hm\n\nbegin 0: f\narguments 0: {\"a\": 1}\nend 0: \nbegin 1: g\narguments 1: {}"
                      "\nend 1: \ntext: \nend");
  const std::string bad = "<tool_call>f\n<arg_key>a</arg_key>\nno value</tool_call>";
  const auto broken = read_every_way(maker("glm45", kTools), bad + "<tool_call>g</tool_call>");
  ASSERT_EQ(broken.calls.size(), 2U) << broken.log;
  EXPECT_TRUE(broken.calls[0].is_broken);
  EXPECT_EQ(broken.all_text, bad);
  const std::string cut = "<tool_call>f\n<arg_key>a</arg_key>\n<arg_value>1";
  EXPECT_EQ(read_every_way(maker("glm45", kTools), cut).broken_text, cut);
}

TEST(Pythonic, Calls) {
  const auto make = maker("pythonic");
  expect_call(read_every_way(make, R"([f(a=1, b='it\'s "é"', c=[True, None, {'k': -2.5}], d="),]")])"), "f",
              R"({"a": 1, "b": "it's \"é\"", "c": [true, null, {"k": -2.5}], "d": "),]"})");
  expect_call(read_every_way(make, " [ f( ) ] "), "f", "{}");
  expect_call(read_every_way(make, "<|python_start|>[f(a = 'x' )]<|python_end|>"), "f", R"({"a": "x"})");
  const auto seen = read_every_way(make, "[f(a=1), g.h(b='}')] end");
  EXPECT_EQ(seen.log, "\nbegin 0: f\narguments 0: {\"a\": 1}\nend 0: \nbegin 1: g.h\narguments 1: {\"b\": \"}\"}"
                      "\nend 1: \ntext:  end");
}

TEST(Pythonic, AListIsNoCallAndABrokenCallIsText) {
  for (const std::string reply : {"[1, 2]", "[a link](http://x)", "[see(the note)]", "[", "[]", "So [f()]", "[f("}) {
    const auto seen = read_every_way(maker("pythonic"), reply);
    EXPECT_EQ(seen.text, reply);
    EXPECT_TRUE(seen.errors.empty()) << seen.log;
  }
  const auto seen = read_every_way(maker("pythonic"), "[f(a=1), g(b=h(2)), i()]");
  ASSERT_EQ(seen.calls.size(), 2U) << seen.log;
  EXPECT_TRUE(seen.calls[1].is_broken);
  EXPECT_EQ(seen.all_text, ", g(b=h(2)), i()]");
}

// Values from CPython 3.11: json.dumps(ast.literal_eval(x), ensure_ascii=False).
TEST(PythonLiteral, AsCPythonReadsIt) {
  EXPECT_EQ(python_as_json(R"('a\x41\u00e9\n' "b")"), R"("aAé\nb")");
  EXPECT_EQ(python_as_json(R"({1: (2, 3), 'k': {}, None: []})"), R"({"1": [2, 3], "k": {}, "null": []})");
  EXPECT_EQ(python_as_json(R"('\q\'')"), R"("\\q'")");
  EXPECT_EQ(python_as_json("[1, 2,]"), "[1, 2]");
  for (const char* bad : {"", "f(1)", "[1", "'a", "1 + 2", "[,]", "'\\ud800'", "nan", "{[1]: 2}"})
    EXPECT_EQ(python_as_json(bad), std::nullopt) << bad;
  EXPECT_EQ(python_as_json(std::string(100000, '[')), std::nullopt);
}
}  // namespace
}  // namespace corisco::gateway::tool_calls::testing
