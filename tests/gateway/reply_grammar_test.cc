// What requests demand of replies, as grammars: texts written by hand, and every family's calls read back by
// its parser.
#include "gateway/reply_grammar.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "corisco/base/json.h"
#include "gateway/fakes.h"
#include "gateway/tool_calls/call_grammar.h"
#include "gateway/tool_calls/parser.h"

namespace corisco::gateway {
namespace {
using nlohmann::json;
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

struct Lab {
  fakes::ByteTokenizer tokenizer;
  std::shared_ptr<const text::GrammarCompiler> compiler = make();

  std::shared_ptr<const text::GrammarCompiler> make() const {
    const TokenId end = fakes::kEnd;
    return text::GrammarCompiler::create(tokenizer, std::span(&end, 1)).value();
  }
  std::unique_ptr<text::GrammarMatcher> start(const ChatRequest& request, const std::string& family,
                                              Thinking thinking = Thinking::none) const {
    const auto wanted = wanted_grammar(request, {family, false}, thinking, tokenizer);
    const auto* error = std::get_if<ApiError>(&wanted);
    EXPECT_EQ(error, nullptr) << family << ": " << (error == nullptr ? "" : error->message);
    if (error != nullptr) return nullptr;
    const auto& source = std::get<WantedGrammar>(wanted).source;
    const auto grammar = compiler->compile(source);
    EXPECT_TRUE(grammar.ok()) << family << ": " << (grammar.ok() ? "" : grammar.error().message) << source.at(0).text;
    return grammar.ok() ? grammar.value()->start().value() : nullptr;
  }
  // Whether it is a whole reply of the grammar.
  bool is_whole(const ChatRequest& request, const std::string& family, const std::string& reply,
                Thinking thinking = Thinking::none) const {
    const auto matcher = start(request, family, thinking);
    if (!matcher) return false;
    for (const char c : reply)
      if (!matcher->consume(static_cast<unsigned char>(c)).ok()) return false;
    return matcher->is_complete() || matcher->may_end().value();
  }
};

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
    const bool may_end = ((mask[fakes::kEnd / 32] >> (fakes::kEnd % 32)) & 1U) != 0;
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
  const Lab lab;
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
      {"glm45", "<tool_call>echo\n<arg_key>text</arg_key><arg_value>a\nb</arg_value>\n</tool_call>"},
      {"glm47", "<tool_call>echo<arg_key>text</arg_key><arg_value>a</arg_value></tool_call>"}};
  const Lab lab;
  for (const auto& [family, call] : calls) {
    EXPECT_TRUE(lab.is_whole(forced({}), family, call)) << family;
    EXPECT_FALSE(lab.is_whole(forced({"ls"}), family, call)) << family;
    EXPECT_FALSE(lab.is_whole(forced({}), family, "Sure: " + call)) << family;
    EXPECT_EQ(read_calls(family, call).names, std::vector<std::string>{"echo"}) << family;
  }
  const auto& one = calls[0].second;
  EXPECT_TRUE(lab.is_whole(forced({}), "hermes", one + "\n" + one));
  EXPECT_FALSE(lab.is_whole(forced({}, false), "hermes", one + "\n" + one));
}

TEST(ReplyGrammar, FamiliesWithoutAGrammarAreRefusedByName) {
  const Lab lab;
  for (const std::string family : {"pythonic", "llama4_pythonic", ""}) {
    const auto wanted = wanted_grammar(forced({}), {family, false}, Thinking::none, lab.tokenizer);
    const auto* error = std::get_if<ApiError>(&wanted);
    ASSERT_NE(error, nullptr) << family;
    EXPECT_EQ(error->param, "tool_choice");
    EXPECT_NE(error->message.find("hermes"), std::string::npos);
  }
}

TEST(ReplyGrammar, AFormMayComeAfterThoughtsAndBesideCalls) {
  const Lab lab;
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

TEST(ReplyGrammar, ChoicesAndPatterns) {
  const Lab lab;
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
  const Lab lab;
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

TEST(ReplyGrammar, WhereThinkingStandsFollowsFromThePrompt) {
  const ReplySyntax thinks{"hermes", true};
  EXPECT_EQ(thinking_of(thinks, false, "<|im_start|>assistant\n<think>\n"), Thinking::is_open);
  EXPECT_EQ(thinking_of(thinks, false, "<|im_start|>assistant\n"), Thinking::may_open);
  EXPECT_EQ(thinking_of(thinks, false, "assistant\n<think>\n\n</think>\n\n"), Thinking::none);
  EXPECT_EQ(thinking_of({"hermes", false}, false, "<think>"), Thinking::none);
  EXPECT_EQ(thinking_of(thinks, true, "<think>"), Thinking::none);
}
}  // namespace
}  // namespace corisco::gateway
