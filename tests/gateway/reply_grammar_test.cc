// What requests demand of replies, as grammars: texts written by hand, and every family's calls read back by
// its parser.
#include "gateway/reply_grammar.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "corisco/base/json.h"
#include "gateway/grammar_lab.h"
#include "gateway/tool_calls/call_grammar.h"
#include "gateway/tool_calls/parser.h"

namespace corisco::gateway {
namespace {
using testing::GrammarLab;
using testing::kEndId;
using Kind = ReplyForm::Kind;

constexpr const char* kTools =
    R"([{"type":"function","function":{"name":"ls","parameters":{"type":"object","properties":{"all":{"type":"boolean"},)"
    R"("depth":{"type":"integer","minimum":1,"maximum":9},"sort":{"enum":["name","size"]}},"required":["all","sort"],)"
    R"("additionalProperties":false}}},)"
    R"({"type":"function","function":{"name":"echo","parameters":{"type":"object","properties":{"text":{"type":"string"}},)"
    R"("required":["text"],"additionalProperties":false}}}])";

ChatRequest forced(std::vector<std::string> names, bool several = true) {
  ChatRequest request;
  request.tools_json = kTools;
  request.forced_call = {true, std::move(names), "tool_choice"};
  request.allows_several_calls = several;
  return request;
}

// What the mask allows, taken at random; ends where the reply may end.
std::string random_reply(text::GrammarMatcher& matcher, std::uint32_t seed) {
  std::string text;
  std::uint32_t state = seed;
  while (!matcher.is_complete() && text.size() < 20000) {
    const auto mask = matcher.mask().value();
    std::vector<TokenId> allowed;
    for (TokenId id = 0; id < 256; ++id)
      if (((mask[static_cast<std::size_t>(id) / 32] >> (id % 32)) & 1U) != 0) allowed.push_back(id);
    state = state * 1664525U + 1013904223U;
    const bool may_end = ((mask[kEndId / 32] >> (kEndId % 32)) & 1U) != 0;
    if (allowed.empty() || (may_end && (state >> 28) < 8)) break;
    text += static_cast<char>(allowed[(state >> 8) % allowed.size()]);
    EXPECT_TRUE(matcher.consume(static_cast<unsigned char>(text.back())).ok());
  }
  return text;
}

struct ReadCalls {
  std::vector<std::string> names, arguments;
  int num_errors = 0;
  std::string text;
};

ReadCalls read_calls(const std::string& family, const std::string& reply) {
  const auto tools = parse_ordered_json(kTools);
  auto parser = tool_calls::make_tool_parser(family, tools).value();
  auto events = parser->push(reply);
  for (auto& event : parser->finish()) events.push_back(std::move(event));
  ReadCalls read;
  for (const auto& event : events) {
    using Event = tool_calls::Event::Kind;
    if (event.kind == Event::call_begin) read.names.push_back(event.text), read.arguments.emplace_back();
    if (event.kind == Event::arguments) read.arguments.back() += event.text;
    if (event.kind == Event::text) read.text += event.text;
    read.num_errors += event.kind == Event::parse_error || event.is_broken ? 1 : 0;
  }
  return read;
}

TEST(ReplyGrammar, EveryFamilysForcedCallsAreReadByItsParser) {
  const GrammarLab lab;
  for (const auto& family : tool_calls::families_with_grammars()) {
    for (std::uint32_t seed = 1; seed <= 8; ++seed) {
      const auto matcher = lab.start(forced({"ls"}), family);
      ASSERT_NE(matcher, nullptr);
      const auto reply = random_reply(*matcher, seed);
      const auto read = read_calls(family, reply);
      EXPECT_EQ(read.num_errors, 0) << family << ": " << reply;
      ASSERT_GE(read.names.size(), 1U) << family << ": " << reply;
      EXPECT_EQ(trim(read.text), "") << family << ": " << reply;
      for (std::size_t i = 0; i < read.names.size(); ++i) {
        const auto arguments = parse_json(read.arguments[i]);
        EXPECT_EQ(read.names[i], "ls");
        ASSERT_TRUE(arguments.is_object()) << family << ": " << reply;
        EXPECT_TRUE(arguments["all"].is_boolean()) << family << ": " << reply;
        EXPECT_TRUE(arguments["sort"] == "name" || arguments["sort"] == "size") << family << ": " << reply;
        const auto depth = arguments.value("depth", 1);
        EXPECT_TRUE(depth >= 1 && depth <= 9) << family << ": " << reply;
      }
    }
  }
}

TEST(ReplyGrammar, CallsAsModelsWriteThemAreWholeReplies) {
  const std::vector<std::pair<std::string, std::string>> calls = {
      {"hermes", "<tool_call>\n{\"name\": \"echo\", \"arguments\": {\"text\": \"a\\nb\"}}\n</tool_call>"},
      {"qwen3_coder", "<tool_call>\n<function=echo>\n<parameter=text>\na < b\n</parameter>\n</function>\n</tool_call>"},
      {"llama3_json", "{\"name\": \"echo\", \"parameters\": {\"text\": \"a\"}}"},
      {"mistral", "[TOOL_CALLS][{\"name\": \"echo\", \"arguments\": {\"text\": \"a\"}}]"},
      {"deepseek_v3", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>echo\n```json\n{\"text\": \"a\"}\n```"
                      "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
      {"deepseek_v31", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>echo<｜tool▁sep｜>{\"text\": \"a\"}<｜tool▁call▁end｜>"
                       "<｜tool▁calls▁end｜>"},
      {"glm45", "<tool_call>echo\n<arg_key>text</arg_key>\n<arg_value>a\nb</arg_value>\n</tool_call>"},
      {"glm47", "<tool_call>echo<arg_key>text</arg_key><arg_value>a</arg_value></tool_call>"},
      {"pythonic", "[echo(text=\"a\\n'b'\")]"},
      {"llama4_pythonic", "[echo(text=\"a\")]"},
      {"deepseek_v32", "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"echo\">\n<｜DSML｜parameter name=\"text\" "
                       "string=\"true\">a\n<b></｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"},
      {"kimi_k2", "<|tool_calls_section_begin|><|tool_call_begin|>functions.echo:0<|tool_call_argument_begin|>"
                  "{\"text\": \"a\"}<|tool_call_end|><|tool_calls_section_end|>"},
      {"gemma", "<|tool_call>call:echo{text:<|\"|>a}\n\"b\"<|\"|>}<tool_call|>"},
      {"openai", "<|channel|>commentary to=functions.echo <|constrain|>json<|message|>{\"text\": \"a\"}"}};
  const GrammarLab lab;
  for (const auto& [family, call] : calls) {
    EXPECT_TRUE(lab.is_whole(forced({}), family, call)) << family;
    EXPECT_FALSE(lab.is_whole(forced({"ls"}), family, call)) << family;
    EXPECT_FALSE(lab.is_whole(forced({}), family, "Sure: " + call)) << family;
    const auto read = read_calls(family, call);
    EXPECT_EQ(read.names, std::vector<std::string>{"echo"}) << family;
    EXPECT_EQ(parse_json(read.arguments.at(0))["text"].get<std::string>().front(), 'a') << family;
  }
  ASSERT_EQ(calls.size(), tool_calls::families_with_grammars().size());
  const auto& one = calls[0].second;
  EXPECT_TRUE(lab.is_whole(forced({}), "hermes", one + "\n" + one));
  EXPECT_FALSE(lab.is_whole(forced({}, false), "hermes", one + "\n" + one));
}

TEST(ReplyGrammar, CallsOfAModelThatWritesNoneAreRefusedByName) {
  const GrammarLab lab;
  const auto wanted = wanted_grammar(forced({}), {"", false}, Thinking::none, lab.tokenizer);
  const auto* error = std::get_if<ApiError>(&wanted);
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->param, "tool_choice");
  EXPECT_NE(error->message.find("gateway.tool_parser"), std::string::npos);
}

TEST(ReplyGrammar, AFormMayComeAfterThoughtsAndBesideCalls) {
  const GrammarLab lab;
  ChatRequest request;
  request.form = {Kind::json_schema, R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],)"
                                     R"("additionalProperties":false})", {}, true, "response_format"};
  EXPECT_TRUE(lab.is_whole(request, "hermes", "{\"a\": 1}"));
  EXPECT_TRUE(lab.is_whole(request, "hermes", "{\n  \"a\": 1\n}"));
  EXPECT_FALSE(lab.is_whole(request, "hermes", "{\"b\": 1}"));
  EXPECT_FALSE(lab.is_whole(request, "hermes", "<think>x</think>{\"a\": 1}"));
  EXPECT_TRUE(lab.is_whole(request, "hermes", "<think>x</think>\n\n{\"a\": 1}", Thinking::may_open));
  EXPECT_TRUE(lab.is_whole(request, "hermes", "{\"a\": 1}", Thinking::may_open));
  EXPECT_TRUE(lab.is_whole(request, "hermes", "so {\"b\"} </think>{\"a\": 1}", Thinking::is_open));
  EXPECT_FALSE(lab.is_whole(request, "hermes", "{\"a\": 1}", Thinking::is_open));
  request.tools_json = kTools;
  EXPECT_TRUE(lab.is_whole(request, "hermes", "{\"a\": 1}"));
  EXPECT_TRUE(lab.is_whole(request, "hermes",
                           "<tool_call>\n{\"name\": \"echo\", \"arguments\": {\"text\": \"a\"}}\n</tool_call>"));
  request.reads_tool_calls = false;
  EXPECT_FALSE(lab.is_whole(request, "hermes",
                            "<tool_call>\n{\"name\": \"echo\", \"arguments\": {\"text\": \"a\"}}\n</tool_call>"));
}

TEST(ReplyGrammar, AReplyInChannelsMayThinkInItsOwn) {
  const GrammarLab lab;
  const ReplySyntax gpt{"openai", true, "openai"};
  const std::string thought = "<|channel|>analysis<|message|>Hm <b>.<|end|><|start|>assistant";
  const std::string call = "<|channel|>commentary to=functions.echo <|constrain|>json<|message|>{\"text\": \"a\"}";
  const std::string other = " to=functions.echo<|channel|>commentary json<|message|>{\"text\": \"a\"}";
  for (const auto& one : {call, other}) {
    EXPECT_TRUE(lab.is_whole(forced({}), gpt, one, Thinking::may_open));
    EXPECT_TRUE(lab.is_whole(forced({}), gpt, thought + one, Thinking::may_open));
    EXPECT_FALSE(lab.is_whole(forced({}), gpt, thought + one, Thinking::none));
    EXPECT_FALSE(lab.is_whole(forced({}), gpt, thought + one + one, Thinking::may_open));   // one a reply
  }
  EXPECT_FALSE(lab.is_whole(forced({}), gpt, thought + "<|channel|>final<|message|>No.", Thinking::may_open));
  ChatRequest answer;
  answer.form = {Kind::choice, {}, {"yes", "no"}, true, "guided_choice"};
  EXPECT_TRUE(lab.is_whole(answer, gpt, thought + "<|channel|>final<|message|>yes", Thinking::may_open));
  EXPECT_FALSE(lab.is_whole(answer, gpt, "yes", Thinking::may_open));
  EXPECT_FALSE(lab.is_whole(answer, gpt, thought + call, Thinking::may_open));
  answer.tools_json = kTools;
  EXPECT_TRUE(lab.is_whole(answer, gpt, thought + call, Thinking::may_open));
}

TEST(ReplyGrammar, GemmaThinksInItsChannel) {
  const GrammarLab lab;
  const ReplySyntax gemma{"gemma", true, "gemma"};
  const std::string call = "<|tool_call>call:echo{text:<|\"|>a<|\"|>}<tool_call|>";
  EXPECT_TRUE(lab.is_whole(forced({}), gemma, "<|channel>thought\nHm.<channel|>" + call, Thinking::may_open));
  EXPECT_TRUE(lab.is_whole(forced({}), gemma, "Hm.<channel|>" + call, Thinking::is_open));
  EXPECT_FALSE(lab.is_whole(forced({}), gemma, "<think>Hm.</think>" + call, Thinking::may_open));
}

TEST(ReplyGrammar, ChoicesAndPatterns) {
  const GrammarLab lab;
  ChatRequest request;
  request.form = {Kind::choice, {}, {"yes", "no \"way\""}, true, "guided_choice"};
  EXPECT_TRUE(lab.is_whole(request, "", "no \"way\""));
  EXPECT_FALSE(lab.is_whole(request, "", "ye"));
  request.form = {Kind::regex, "[0-9]{2}/[a-z]+", {}, true, "guided_regex"};
  EXPECT_TRUE(lab.is_whole(request, "", "12/ab"));
  EXPECT_FALSE(lab.is_whole(request, "", "1/ab"));
  request.form = {Kind::lark, "start: \"a\" b\nb: \"b\"+", {}, true, "guided_grammar"};
  EXPECT_TRUE(lab.is_whole(request, "", "abb"));
  EXPECT_FALSE(lab.is_whole(request, "", "a"));
}

TEST(ReplyGrammar, StrictToolsAreEnforcedInFreeText) {
  const GrammarLab lab;
  ChatRequest request;
  request.tools_json = kTools;
  EXPECT_EQ(std::get<WantedGrammar>(wanted_grammar(request, {"hermes", false}, Thinking::none, lab.tokenizer)).constraint,
            Constraint::none);
  request.strict_tools = {"echo"};
  const std::string call = "<tool_call>\n{\"name\": \"echo\", \"arguments\": {\"text\": \"a\"}}\n</tool_call>";
  EXPECT_TRUE(lab.is_whole(request, "hermes", "Just <tool_talk>."));
  EXPECT_TRUE(lab.is_whole(request, "hermes", call));
  EXPECT_TRUE(lab.is_whole(request, "hermes", cat("Look:\n", call, "\n", call, "\ndone")));
  EXPECT_FALSE(lab.is_whole(request, "hermes", "<tool_call>\n{\"name\": \"echo\", \"arguments\": {\"txt\": \"a\"}}\n</tool_call>"));
  EXPECT_FALSE(lab.is_whole(request, "hermes", "<tool_call>oops"));
  EXPECT_EQ(std::get<WantedGrammar>(wanted_grammar(request, {"llama3_json", false}, Thinking::none, lab.tokenizer))
                .constraint, Constraint::none);
}

TEST(ReplyGrammar, StrictToolsAreEnforcedWhereverAMarkerTellsACall) {
  const GrammarLab lab;
  ChatRequest request;
  request.tools_json = kTools;
  request.strict_tools = {"echo"};
  const std::string kimi = "<|tool_call_begin|>functions.echo:0<|tool_call_argument_begin|>";
  const std::string kimi_end = "<|tool_call_end|><|tool_calls_section_end|>";
  const std::string invoke = "<｜DSML｜invoke name=\"echo\">\n<｜DSML｜parameter name=";
  const std::string dsml_end = "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>";
  const std::string gpt = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary";
  const std::string v31 = "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>echo<｜tool▁sep｜>";
  const std::string v31_end = "<｜tool▁call▁end｜><｜tool▁calls▁end｜>";
  struct Case {
    std::string family, good, bad;
  };
  const std::vector<Case> cases = {
      {"kimi_k2", "So:<|tool_calls_section_begin|>" + kimi + "{\"text\": \"a\"}" + kimi_end, "So:" + kimi + "{}"},
      {"kimi_k2", "plain <|tool_call", "<|tool_calls_section_begin|>" + kimi + "{\"txt\": \"a\"}" + kimi_end},
      {"deepseek_v32", "So:\n\n<｜DSML｜tool_calls>\n" + invoke + "\"text\" string=\"true\">a" + dsml_end,
       "<｜DSML｜tool_calls>\n" + invoke + "\"txt\" string=\"true\">a" + dsml_end},
      {"deepseek_v31", "So." + v31 + "{\"text\": \"a\"}" + v31_end, "So." + v31 + "{\"txt\": \"a\"}" + v31_end},
      {"gemma", "So.<|tool_call>call:echo{text:<|\"|>a<|\"|>}<tool_call|>", "<|tool_call>call:echo{txt:1}<tool_call|>"},
      {"qwen3_coder", "So.", "<function=echo>\n"},
      {"openai", gpt + " to=functions.echo json<|message|>{\"text\": \"a\"}",
       gpt + " to=functions.echo json<|message|>{\"txt\": \"a\"}"},
      {"openai", gpt + "<|message|>Let me.<|end|><|start|>assistant<|channel|>final<|message|>So.", gpt + "\n"}};
  for (const auto& [family, good, bad] : cases) {
    EXPECT_TRUE(lab.is_whole(request, family, good)) << family << ": " << good;
    EXPECT_FALSE(lab.is_whole(request, family, bad)) << family << ": " << bad;
  }
}

TEST(ReplyGrammar, WhereThinkingStandsFollowsFromThePrompt) {
  const ReplySyntax thinks{"hermes", true};
  EXPECT_EQ(thinking_of(thinks, false, "<|im_start|>assistant\n<think>\n"), Thinking::is_open);
  EXPECT_EQ(thinking_of(thinks, false, "<|im_start|>assistant\n"), Thinking::may_open);
  EXPECT_EQ(thinking_of(thinks, false, "assistant\n<think>\n\n</think>\n\n"), Thinking::none);
  EXPECT_EQ(thinking_of({"hermes", false}, false, "<think>"), Thinking::none);
  EXPECT_EQ(thinking_of(thinks, true, "<think>"), Thinking::none);
  const ReplySyntax gemma{"gemma", true, "gemma"};
  EXPECT_EQ(thinking_of(gemma, false, "<|turn>model\n<|channel>thought\n"), Thinking::is_open);
  EXPECT_EQ(thinking_of(gemma, false, "<|turn>model\n<|channel>thought\n<channel|>"), Thinking::none);
  EXPECT_EQ(thinking_of(gemma, false, "<|turn>model\n"), Thinking::may_open);
  EXPECT_EQ(thinking_of({"openai", true, "openai"}, false, "<|start|>assistant"), Thinking::may_open);
}
}  // namespace
}  // namespace corisco::gateway
