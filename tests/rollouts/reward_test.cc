#include "rollouts/reward.h"

#include <gtest/gtest.h>

namespace corisco::rollouts {
namespace {
TEST(Reward, TakesFiniteNumbersAndBooleans) {
  const std::vector<std::pair<const char*, double>> cases = {
      {"1", 1},       {"0.25\n", 0.25}, {" -3e-1 ", -0.3}, {"true", 1},  {"false", 0},
      {"True", 1},    {"False\n", 0},   {".5", 0.5},       {"+1", 1},    {"1.", 1},
  };
  for (const auto& [text, value] : cases) {
    const auto reward = parse_reward_text(text);
    ASSERT_TRUE(reward.ok()) << text << ": " << reward.error().message;
    EXPECT_DOUBLE_EQ(reward.value().value, value) << text;
  }
}

TEST(Reward, RefusesAnythingElseByName) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"", "an empty text"},
      {"nan", "a non-finite number (nan)"},
      {"-inf", "a non-finite number (-inf)"},
      {"1e999", "(1e999)"},
      {"\"1\"", "a JSON string (\"1\")"},
      {"null", "a JSON null (null)"},
      {"[1]", "a JSON array ([1])"},
      {"{\"reward\": 1}", "a JSON object"},
      {"one", "a text (one)"},
      {"1 2", "a text (1 2)"},
  };
  for (const auto& [text, name] : cases) {
    const auto reward = parse_reward_text(text);
    ASSERT_FALSE(reward.ok()) << text;
    EXPECT_NE(reward.error().message.find(name), std::string::npos) << reward.error().message;
  }
}

TEST(Reward, OfAFunctionMayCarryANote) {
  const auto noted = parse_function_reward(R"({"ok": true, "value": [0.5, "half"], "shown": ""})");
  ASSERT_TRUE(noted.ok());
  EXPECT_DOUBLE_EQ(noted.value().value, 0.5);
  EXPECT_EQ(noted.value().note, "half");
  EXPECT_DOUBLE_EQ(parse_function_reward(R"({"ok": true, "value": true})").value().value, 1);
  EXPECT_EQ(parse_function_reward(R"({"ok": false, "error": "Traceback x"})").error().message,
            "Traceback x");
  EXPECT_NE(parse_function_reward(R"({"ok": true, "value": null, "shown": "nan"})")
                .error().message.find("(nan)"), std::string::npos);
  EXPECT_FALSE(parse_function_reward(R"({"ok": true, "value": [1, 2, 3]})").ok());
  EXPECT_FALSE(parse_function_reward("").ok());
}

TEST(Reward, LinesOfOutput) {
  EXPECT_EQ(last_line("a\n0.5 \n\n"), "0.5");
  EXPECT_EQ(last_line("0.5"), "0.5");
  EXPECT_EQ(last_line(" \n"), "");
  EXPECT_EQ(last_lines("a\nb\nc\n", 2), "b\nc");
  EXPECT_EQ(last_lines("a\nb\nc\n", 9), "a\nb\nc");
  EXPECT_EQ(last_lines("", 2), "");
}
}  // namespace
}  // namespace corisco::rollouts
