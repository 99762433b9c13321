// What a turn says, and which forms say the same.
#include "gateway/reply_meaning.h"

#include <gtest/gtest.h>

namespace corisco::gateway {
namespace {
const ReplySyntax kHermes{"hermes", true};

TEST(ReplyMeaning, TheWorkedExample) {
  const auto meaning = ReplyReader(kHermes).read(
      "<think>\nHm.\n</think>\n\nLet me look.\n<tool_call>\n{\"name\": \"ls\", \"arguments\": {}}\n</tool_call>");
  EXPECT_EQ(meaning.texts, std::vector<std::string>{"\n\nLet me look.\n"});
  EXPECT_EQ(meaning.reasoning, "\nHm.\n");
  EXPECT_TRUE(meaning.has_wrapper);
  ASSERT_EQ(meaning.calls.size(), 1U);
  EXPECT_EQ(meaning.calls[0].name, "ls");
  EXPECT_EQ(meaning.calls[0].arguments, "{}");
}

TEST(ReplyMeaning, ACallThatIsNotWholeIsItsText) {
  const auto meaning = ReplyReader(kHermes).read("<tool_call>\n{\"name\": \"ls\", \"arguments\": {\"pa");
  EXPECT_TRUE(meaning.calls.empty());
  ASSERT_EQ(meaning.texts.size(), 1U);
  EXPECT_EQ(meaning.texts[0], "<tool_call>\n{\"name\": \"ls\", \"arguments\": {\"pa");
}

TEST(ReplyMeaning, TaggedValuesAreReadByTheToolsSchema) {
  const std::string tools = R"([{"type":"function","function":{"name":"run","parameters":{"type":"object",
      "properties":{"seconds":{"type":"number"},"is_quiet":{"type":"boolean"},"text":{"type":"string"}}}}}])";
  const ReplyReader reader({"qwen3_coder", false}, tools);
  const auto call = [&](const std::string& seconds, const std::string& quiet, const std::string& text) {
    return reader.read("<tool_call>\n<function=run>\n<parameter=seconds>\n" + seconds +
                       "\n</parameter>\n<parameter=is_quiet>\n" + quiet + "\n</parameter>\n<parameter=text>\n" + text +
                       "\n</parameter>\n</function>\n</tool_call>");
  };
  const auto sampled = call("60000.0", "true", "1.0");
  EXPECT_EQ(compare(sampled, call("60000", "True", "1.0")).likeness, Likeness::same);
  EXPECT_TRUE(compare(sampled, call("60000", "True", "1.0")).differences.has(Difference::arguments));
  EXPECT_EQ(compare(sampled, call("60000", "true", "1")).likeness, Likeness::other);   // a string is a string
  EXPECT_EQ(compare(sampled, call("60001", "true", "1.0")).likeness, Likeness::other);
}

// Where the generation prompt opens reasoning, templates write no more than its end into old turns.
TEST(ReplyMeaning, AnEndOfReasoningAloneIsAnEmptyWrapper) {
  const ReplyReader reader({"deepseek_v32", true});
  const auto returned = reader.read("</think>Yes.");
  EXPECT_EQ(returned.texts, std::vector<std::string>{"Yes."});
  EXPECT_TRUE(returned.has_wrapper);
  EXPECT_EQ(compare(reader.read("<think>Hm</think>Yes."), returned).likeness, Likeness::without_reasoning);
  EXPECT_EQ(compare(reader.read("Yes."), returned).likeness, Likeness::same);
}

TEST(ReplyMeaning, JsonIsComparedByValue) {
  EXPECT_TRUE(is_same_json(R"({"a": 1.0, "b": [true, null]})", R"({"b":[true,null],"a":1})"));
  EXPECT_TRUE(is_same_json(R"({"a": "\u00e9\/"})", "{\"a\":\"\xc3\xa9/\"}"));
  EXPECT_TRUE(is_same_json("12345678901234567890123", "1.2345678901234568e22"));   // as JavaScript writes it
  EXPECT_TRUE(is_same_json(" not json ", "not json"));
  for (const auto* other : {R"({"a":"1"})", R"({"a":true})", R"({"a":1,"b":0})", R"({"b":1})", "[1]", "", "{a:1}"})
    EXPECT_FALSE(is_same_json(R"({"a":1})", other)) << other;
  const std::string deep(20000, '[');
  EXPECT_FALSE(is_same_json(deep + "1" + std::string(20000, ']'), deep + "2" + std::string(20000, ']')));
}

TEST(ReplyMeaning, BlanksCountOnlyWithinTexts) {
  EXPECT_TRUE(is_same_text({" a  b "}, "a  b"));
  EXPECT_FALSE(is_same_text({"a  b"}, "a b"));
  EXPECT_TRUE(is_same_text({"a\n", "\nb"}, "a\nb"));     // a call stood between them
  EXPECT_TRUE(is_same_text({"a", "b"}, "ab"));
  EXPECT_FALSE(is_same_text({"a", "b"}, "abc"));
  EXPECT_TRUE(is_same_text({}, " \n"));
  EXPECT_TRUE(is_same_text({" "}, ""));
}

TEST(ReplyMeaning, TheStemEndsBeforeTheTurn) {
  const auto stem = [](std::string_view prompt, bool has_reasoning = true) {
    return prompt.substr(0, stem_bytes(prompt, {"hermes", has_reasoning}));
  };
  EXPECT_EQ(stem("<a>assistant\n"), "<a>assistant");
  EXPECT_EQ(stem("<a>assistant\n<think>\n"), "<a>assistant");
  EXPECT_EQ(stem("<a>assistant\n<think>\n\n</think>\n\n"), "<a>assistant");
  EXPECT_EQ(stem("<a>assistant\n<think></think>"), "<a>assistant");
  EXPECT_EQ(stem("<a>assistant\n<think>\nso</think>\n"), "<a>assistant\n<think>\nso</think>");
  EXPECT_EQ(stem("<a>\n<think>\n", false), "<a>\n<think>");
  const std::string_view gemma = "<a>\n<|channel>thought\n<channel|>";
  EXPECT_EQ(gemma.substr(0, stem_bytes(gemma, {"gemma", true, "gemma"})), "<a>");
  EXPECT_EQ(stem(""), "");
}

TEST(ReplyMeaning, ReasoningIsWholeOrGone) {
  const ReplyReader reader(kHermes);
  const auto sampled = reader.read("<think>\nHm.\n</think>\n\nYes.");
  EXPECT_EQ(compare(sampled, reader.read("<think>Hm.</think>Yes.")).likeness, Likeness::same);
  EXPECT_EQ(compare(sampled, reader.read("Yes.")).likeness, Likeness::without_reasoning);
  EXPECT_EQ(compare(sampled, reader.read("<think>\n\n</think>\n\nYes.")).likeness, Likeness::without_reasoning);
  EXPECT_EQ(compare(sampled, reader.read("<think>\nHmm.\n</think>\n\nYes.")).likeness, Likeness::other);
  EXPECT_EQ(compare(reader.read("Yes."), sampled).likeness, Likeness::other);
}
}  // namespace
}  // namespace corisco::gateway
