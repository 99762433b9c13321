// How calls are written where markers are special tokens, and values in the families' own literals: grammars and
// replies by hand, which the families' parsers read back.
#include "gateway/tool_calls/call_grammar.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "corisco/base/json.h"
#include "gateway/grammar_lab.h"
#include "gateway/tool_calls/parser.h"

namespace corisco::gateway {
namespace {
using testing::GrammarLab;

ChatRequest forced(const std::string& parameters, bool is_strict = false) {
  ChatRequest request;
  request.tools_json = R"([{"type": "function", "function": {"name": "f", "parameters": )" + parameters + "}}]";
  request.forced_call = {true, {}, "tool_choice"};
  if (is_strict) request.strict_tools = {"f"};
  return request;
}

std::string arguments_in(const ChatRequest& request, const std::string& family, const std::string& reply) {
  auto parser = tool_calls::make_tool_parser(family, parse_ordered_json(request.tools_json)).value();
  auto events = parser->push(reply);
  for (auto& event : parser->finish()) events.push_back(std::move(event));
  std::string arguments;
  for (const auto& event : events) {
    using Kind = tool_calls::Event::Kind;
    EXPECT_NE(event.kind, Kind::parse_error) << event.text;
    if (event.kind == Kind::arguments) arguments += event.text;
  }
  return arguments;
}

TEST(CallGrammar, SpecialTokensAreNamedByTheirIds) {
  const GrammarLab lab({"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>",
                        "<|tool_call_argument_begin|>", "<|tool_call_end|>"});
  const auto request = forced(R"({"type": "object"})");
  const auto wanted = wanted_grammar(request, {"kimi_k2", false}, Thinking::none, lab.tokenizer);
  EXPECT_EQ(std::get<WantedGrammar>(wanted).source.at(0).text,
            "call: (<[259]> \"functions.\" \"f\" /:[0-9]{1,4}/ <[260]> @part_0 <[261]>)\n"
            "start: <[257]> ( call ( call)* <[258]>)\n");
  const std::string call = "<|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{\"a\": 1}<|tool_call_end|>";
  const auto section = "<|tool_calls_section_begin|>" + call + call + "<|tool_calls_section_end|>";
  EXPECT_TRUE(lab.is_whole(request, "kimi_k2", section));
  EXPECT_FALSE(lab.is_whole(request, "kimi_k2", call));
}

TEST(CallGrammar, TextEndsAtAMarkerThatIsPartlyASpecialToken) {
  const GrammarLab lab({"｜DSML｜"});
  const auto request = forced(R"({"properties": {"a": {"type": "string"}, "b": {"type": ["string", "null"]}},
                                  "required": ["a"]})");
  const auto call = [](const std::string& parameters) {
    return "<｜DSML｜tool_calls>\n<｜DSML｜invoke name=\"f\">\n" + parameters + "</｜DSML｜invoke>\n</｜DSML｜tool_calls>";
  };
  const std::string a = "<｜DSML｜parameter name=\"a\" string=\"true\">x </b>\n</</｜DSML｜parameter>\n";
  const std::string text = "<｜DSML｜parameter name=\"b\" string=\"true\">null</｜DSML｜parameter>\n";
  const std::string null = "<｜DSML｜parameter name=\"b\" string=\"false\">null</｜DSML｜parameter>\n";
  for (const auto& reply : {call(a), call(a + text), call(a + null)})
    EXPECT_TRUE(lab.is_whole(request, "deepseek_v32", reply)) << reply;
  for (const auto& reply : {call(text), call(null + a), call("")})
    EXPECT_FALSE(lab.is_whole(request, "deepseek_v32", reply)) << reply;
  EXPECT_EQ(parse_json(arguments_in(request, "deepseek_v32", call(a + null))),
            parse_json(R"({"a": "x </b>\n</", "b": null})"));
  EXPECT_EQ(parse_json(arguments_in(request, "deepseek_v32", call(a + text)))["b"], "null");
}

TEST(CallGrammar, MarkersFollowTheTokenizer) {
  const auto request = forced(R"({"properties": {"a": {"type": "string"}}})");
  const GrammarLab llama4({"<|python_start|>", "<|python_end|>"});
  EXPECT_TRUE(llama4.is_whole(request, "llama4_pythonic", "[f(a=\"x\"), f()]"));
  EXPECT_TRUE(llama4.is_whole(request, "llama4_pythonic", "<|python_start|>[f(a=\"x\"), f()]<|python_end|>"));
  EXPECT_FALSE(llama4.is_whole(request, "llama4_pythonic", "<|python_start|>[f()]"));
  const GrammarLab function_gemma({"<start_function_call>", "<end_function_call>", "<escape>"});
  const std::string call = "<start_function_call>call:f{a:<escape>x<escape>}<end_function_call>";
  EXPECT_TRUE(function_gemma.is_whole(request, "gemma", call));
  EXPECT_EQ(parse_json(arguments_in(request, "gemma", call)), parse_json(R"({"a": "x"})"));
  const GrammarLab gpt({"<|channel|>", "<|message|>", "<|constrain|>", "<|start|>", "<|end|>"});
  const ReplySyntax harmony{"openai", true, "openai"};
  const std::string thought = "<|channel|>analysis<|message|>to=<|end|><|start|>assistant";
  const std::string head = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>";
  EXPECT_TRUE(gpt.is_whole(request, harmony, thought + head + "{\"a\": \"x\"}", Thinking::may_open));
  EXPECT_FALSE(gpt.is_whole(request, harmony, head + "{\"a\": \"<|end|>\"}", Thinking::may_open));
}

constexpr const char* kNested =
    R"({"type": "object", "properties": {"o": {"type": "object", "properties": {"k": {"enum": ["x", "\"y\"", 2]},
        "n": {"type": ["integer", "null"], "maximum": 9}}, "required": ["k"], "additionalProperties": false},
        "l": {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 2}, "any": {},
        "tree": {"$ref": "#/$defs/tree"}}, "required": ["o"], "additionalProperties": false,
        "$defs": {"tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}}}}})";

struct Written {
  std::string arguments;                 // as the family writes them
  std::string json;                      // empty: they are not in the grammar
};

void check(const std::string& family, const std::string& begin, const std::string& end,
           const std::vector<Written>& all) {
  const GrammarLab lab;
  const auto request = forced(kNested, true);
  for (const auto& [arguments, expected] : all) {
    const auto reply = begin + arguments + end;
    EXPECT_EQ(lab.is_whole(request, family, reply), !expected.empty()) << reply;
    if (expected.empty()) continue;
    EXPECT_EQ(parse_json(arguments_in(request, family, reply)), parse_json(expected)) << reply;
  }
}

TEST(CallGrammar, PythonsLiteralsObeyTheSchema) {
  check("pythonic", "[f(", ")]",
        {{R"(o={"k": "x", "n": None}, l=[True, False], any={"a": [1, "b", {}]}, tree={"left": {"left": {}}})",
          R"({"o": {"k": "x", "n": null}, "l": [true, false], "any": {"a": [1, "b", {}]},
              "tree": {"left": {"left": {}}}})"},
         {R"(o={"k": "\"y\"", "n": 9}, any="\\\n'")", R"({"o": {"k": "\"y\"", "n": 9}, "any": "\\\n'"})"},
         {R"(o={"k": 2})", R"({"o": {"k": 2}})"},
         {R"(l=[True])", ""},
         {R"(o={"n": 1})", ""},
         {R"(o={"k": "z"})", ""},
         {R"(o={"k": "x", "n": 10})", ""},
         {R"(o={"k": "x", "n": null})", ""},
         {R"(o={"k": "x", "z": 1})", ""},
         {R"(o={"k": "x"}, l=[])", ""},
         {R"(o={"k": "x"}, l=[True, True, True])", ""},
         {R"(o={"k": 'x'})", ""}});
}

TEST(CallGrammar, GemmasLiteralsObeyTheSchema) {
  check("gemma", "<|tool_call>call:f", "<tool_call|>",
        {{R"({any:{a:[1,<|"|>b<|"|>]},l:[true,false],o:{k:<|"|>x<|"|>,n:null},tree:{left:{left:{}}}})",
          R"({"o": {"k": "x", "n": null}, "l": [true, false], "any": {"a": [1, "b"]},
              "tree": {"left": {"left": {}}}})"},
         {R"({any:<|"|>},"<|"|>,o:{k:<|"|>"y"<|"|>}})", R"({"o": {"k": "\"y\""}, "any": "},\""})"},
         {R"({o:{k:2}})", R"({"o": {"k": 2}})"},
         {R"({o:{k:2},l:[true]})", ""},
         {R"({l:[true]})", ""},
         {R"({o:{k:x}})", ""},
         {R"({l:[],o:{k:2}})", ""}});
}

TEST(CallGrammar, WhatLiteralsCannotSayIsRefusedByName) {
  const GrammarLab lab;
  const auto refusal = [&](const ChatRequest& request, const std::string& family) {
    const auto wanted = wanted_grammar(request, {family, false}, Thinking::none, lab.tokenizer);
    const auto* error = std::get_if<ApiError>(&wanted);
    return error == nullptr ? std::string() : error->message;
  };
  const std::string pattern = R"({"properties": {"p": {"type": "string", "pattern": "a+"}}})";
  EXPECT_NE(refusal(forced(pattern, true), "gemma").find("\"pattern\""), std::string::npos);
  EXPECT_NE(refusal(forced(pattern, true), "pythonic").find("\"pattern\""), std::string::npos);
  EXPECT_EQ(refusal(forced(pattern), "gemma"), "");
  auto at_will = forced(pattern, true);
  at_will.forced_call.is_forced = false;
  const auto left_alone = wanted_grammar(at_will, {"gemma", false}, Thinking::none, lab.tokenizer);
  EXPECT_EQ(std::get<WantedGrammar>(left_alone).constraint, Constraint::none);
  const auto spaced = forced(R"({"properties": {"a b": {"type": "integer"}}, "required": ["a b"]})");
  EXPECT_NE(refusal(spaced, "pythonic").find("'a b'"), std::string::npos);
  EXPECT_TRUE(lab.is_whole(spaced, "gemma", R"(<|tool_call>call:f{<|"|>a b<|"|>:1}<tool_call|>)"));
}
}  // namespace
}  // namespace corisco::gateway
