// Replies in the forms that agents send back (OpenHands, Claude Code, Codex, OpenCode, Qwen Code and
// mini-SWE-agent, as measured) are recognised, and what differed is told.
#include <gtest/gtest.h>

#include "gateway/conversation_lab.h"

namespace corisco::gateway::fakes {
namespace {
constexpr const char* kArguments = "{ \"command\" :  \"ls \\u00e9\\/\\n\" ,\n\"timeout\":60000.0 }";
constexpr const char* kSampled =
    "<think>\nHm, \n</think>\n\n  Let me look.  \n\n"
    "<tool_call>\n{\"name\": \"bash\", \"arguments\": "
    "{ \"command\" :  \"ls \\u00e9\\/\\n\" ,\n\"timeout\":60000.0 }}\n</tool_call>";

Json begun() { return Json::array({message("system", "Be brief."), message("user", "go")}); }

struct Echo {
  const char* agent;
  const char* content;
  const char* arguments;
  const char* reasoning;
};
// As each template gets them; parts of text have been joined by then.
constexpr Echo kEchoes[] = {
    {"mini, Codex", "\n\n  Let me look.  \n\n", kArguments, "\nHm, \n"},
    {"trimmed by litellm", "Let me look.", kArguments, "Hm,"},
    {"OpenHands", "\n\n  Let me look.  \n\n", "{\"command\": \"ls \\u00e9/\\n\", \"timeout\": 60000.0}", "\nHm, \n"},
    {"Claude Code", "\n\n  Let me look.  \n\n", "{\"command\":\"ls \xc3\xa9/\\n\",\"timeout\":60000}", "\nHm, \n"},
    {"OpenCode, Qwen Code", "Let me look.", "{\"timeout\":60000,\"command\":\"ls \xc3\xa9/\\n\"}", "\nHm, \n"},
};

TEST(ReturnedReply, EachAgentsFormGoesOnWithTheSampledIds) {
  for (const auto& echo : kEchoes) {
    Lab lab;
    auto first = lab.ask(begun());
    EXPECT_EQ(first.split, SplitCause::first);
    const auto call = lab.reply(first, kSampled);
    auto messages = begun();
    messages.push_back(call_message(echo.content, "bash", echo.arguments));
    messages.back()["reasoning_content"] = echo.reasoning;
    messages.push_back(message("tool", "a.txt"));
    auto next = lab.ask(messages);
    EXPECT_EQ(next.match.calls, std::vector{call}) << echo.agent;
    EXPECT_EQ(next.split, SplitCause::none) << echo.agent;
    const auto sampled = Lab::encode(first.rendering + kSampled + "<|end|>");
    ASSERT_GT(next.ids.size(), sampled.size());
    EXPECT_TRUE(std::equal(sampled.begin(), sampled.end(), next.ids.begin())) << echo.agent;
    EXPECT_TRUE(next.differences.has(Difference::arguments)) << echo.agent;
    // The form is known now.
    lab.reply(next, "Done.");
    messages.push_back(message("assistant", "Done."));
    messages.push_back(message("user", "thanks"));
    const auto last = lab.ask(messages);
    EXPECT_EQ(last.match.calls.size(), 2U) << echo.agent;
    EXPECT_FALSE(last.differences.any()) << echo.agent;
  }
}

TEST(ReturnedReply, ContentNullEmptyOrAbsentIsTheSame) {
  for (const Json& content : {Json(nullptr), Json("")}) {
    Lab lab;
    lab.turn(begun(), "<tool_call>\n{\"name\":\"ls\",\"arguments\":{}}\n</tool_call>");
    auto messages = begun();
    messages.push_back(call_message(content, "ls", "{}"));
    if (content.is_null()) messages.back().erase("content");
    messages.push_back(message("tool", "x"));
    EXPECT_EQ(lab.ask(messages).split, SplitCause::none);
  }
}

struct Change {
  const char* what;
  Json turn;
  SplitCause cause;
};

TEST(ReturnedReply, AnotherMeaningIsAnotherTurn) {
  const auto thought = [](Json turn, const char* reasoning) {
    turn["reasoning_content"] = reasoning;
    return turn;
  };
  const std::vector<Change> changes{
      {"text", thought(call_message("Let me see.", "bash", kArguments), "Hm,"), SplitCause::reply_changed},
      {"name", thought(call_message("Let me look.", "sh", kArguments), "Hm,"), SplitCause::reply_changed},
      {"value", thought(call_message("Let me look.", "bash", "{\"command\":\"ls\",\"timeout\":60000}"), "Hm,"),
       SplitCause::reply_changed},
      {"no call", thought(message("assistant", "Let me look."), "Hm,"), SplitCause::reply_changed},
      {"other reasoning", thought(call_message("Let me look.", "bash", kArguments), "Hmm"), SplitCause::reply_changed},
      {"no reasoning", call_message("Let me look.", "bash", kArguments), SplitCause::reasoning_dropped},
  };
  for (const auto& change : changes) {
    Lab lab;
    lab.turn(begun(), kSampled);
    auto messages = begun();
    messages.push_back(change.turn);
    messages.push_back(message("tool", "a.txt"));
    const auto asked = lab.ask(messages);
    EXPECT_EQ(asked.match.node, nullptr) << change.what;
    EXPECT_EQ(asked.split, change.cause) << change.what;
    EXPECT_EQ(asked.ids, Lab::encode(asked.rendering)) << change.what;
  }
}

TEST(ReturnedReply, ATemplateThatDropsReasoningSplitsUnlessItIsKept) {
  for (const bool keeps : {false, true}) {
    Lab lab;
    lab.chat_template.drops_earlier_reasoning = true;
    lab.rules.keeps_reasoning = keeps;
    lab.turn(begun(), "<think>\nHm\n</think>\n\nYes.");
    auto messages = begun();
    messages.push_back(message("assistant", "Yes."));
    messages.back()["reasoning_content"] = "\nHm\n";
    messages.push_back(message("user", "sure?"));
    const auto asked = lab.ask(messages);
    EXPECT_EQ(asked.split, keeps ? SplitCause::none : SplitCause::reasoning_dropped);
    EXPECT_EQ(asked.match.calls.size(), keeps ? 1U : 0U);
    EXPECT_EQ(asked.differences.has(Difference::kept_reasoning), keeps);
  }
}

// The wrapper that the generation prompt wrote, or the model did, is in the history or not.
TEST(ReturnedReply, AnEmptyThinkingWrapperIsNothing) {
  for (const bool is_in_prompt : {true, false}) {
    Lab lab;
    if (is_in_prompt) lab.kwargs_json = R"({"enable_thinking":false})";
    lab.turn(begun(), is_in_prompt ? "Yes." : "<think>\n\n</think>\n\nYes.");
    auto messages = begun();
    messages.push_back(message("assistant", "Yes."));
    messages.push_back(message("user", "sure?"));
    const auto asked = lab.ask(messages);
    EXPECT_EQ(asked.split, SplitCause::none);
    EXPECT_EQ(asked.match.calls.size(), 1U);
    EXPECT_TRUE(asked.differences.has(Difference::empty_thinking));
  }
}

TEST(ReturnedReply, ReasoningThatThePromptOpenedComesBackInAWrapper) {
  Lab lab;
  lab.kwargs_json = R"({"open_thinking":true})";
  lab.turn(begun(), "Hm\n</think>\n\nYes.");
  auto messages = begun();
  messages.push_back(message("assistant", "\n\nYes."));
  messages.back()["reasoning_content"] = "Hm\n";
  messages.push_back(message("user", "sure?"));
  const auto asked = lab.ask(messages);
  EXPECT_EQ(asked.match.calls.size(), 1U);
  EXPECT_FALSE(asked.differences.any());   // byte for byte, the prompt's part included
}

TEST(ReturnedReply, WhatTheLengthCutGetsItsEndFromTheTemplate) {
  for (const auto* shown : {"One, two", "One, two  "}) {
    Lab lab;
    auto first = lab.ask(begun());
    lab.reply(first, shown, {.is_ended = false});
    auto messages = begun();
    messages.push_back(message("assistant", shown));
    messages.push_back(message("user", "go on"));
    const auto asked = lab.ask(messages);
    EXPECT_EQ(asked.split, SplitCause::none);
    const std::string next = "<|end|>\n<|start|>user\ngo on<|end|>\n<|start|>assistant\n";
    const auto expected = Lab::encode(cat(first.rendering, shown, next));
    EXPECT_EQ(asked.ids, expected);
  }
}

TEST(ReturnedReply, AStopStringsCutIsASplit) {
  Lab lab;
  lab.turn(begun(), "One. STOP", {.is_ended = false, .is_cut = true});
  auto messages = begun();
  messages.push_back(message("assistant", "One. "));
  messages.push_back(message("user", "go on"));
  auto asked = lab.ask(messages);
  EXPECT_EQ(asked.match.node, nullptr);
  EXPECT_EQ(asked.split, SplitCause::stop_string);
  messages[2]["content"] = "One. STOP";    // nor if the client puts the stop string back
  EXPECT_EQ(lab.ask(messages).split, SplitCause::stop_string);
}

TEST(ReturnedReply, ExactServingSplitsAtEveryDifference) {
  Lab lab;
  lab.rules.is_exact = true;
  auto first = lab.ask(begun());
  lab.reply(first, "Yes.  ");
  auto messages = begun();
  messages.push_back(message("assistant", "Yes.  "));
  messages.push_back(message("user", "sure?"));
  const auto asked = lab.ask(messages);  // the template trims it
  EXPECT_EQ(asked.split, SplitCause::exact_serving);
  EXPECT_EQ(asked.match.node, nullptr);
  lab.reply(first, "Yes.");
  EXPECT_EQ(lab.ask(messages).split, SplitCause::none);
}

TEST(ReturnedReply, OfSeveralChoicesTheOneThatCameBack) {
  Lab lab;
  auto first = lab.ask(begun());
  lab.reply(first, "No.");
  const auto taken = lab.reply(first, "Yes. ");
  lab.reply(first, "Perhaps.");
  auto messages = begun();
  messages.push_back(message("assistant", "Yes."));
  messages.push_back(message("user", "sure?"));
  const auto asked = lab.ask(messages);
  EXPECT_EQ(asked.match.calls, std::vector{taken});
  EXPECT_EQ(asked.split, SplitCause::none);
}

TEST(ReturnedReply, ParallelCallsInOneTurnKeepTheirOrder) {
  const std::string one = "<tool_call>\n{\"name\":\"ls\",\"arguments\":{\"n\":1}}\n</tool_call>";
  const std::string two = "<tool_call>\n{\"name\":\"ls\",\"arguments\":{\"n\":2}}\n</tool_call>";
  for (const bool is_swapped : {false, true}) {
    Lab lab;
    lab.turn(begun(), cat("Both.", one, two));
    auto turn = call_message("Both.", "ls", Json{{"n", is_swapped ? 2 : 1}});
    turn["tool_calls"].push_back(call_message("", "ls", Json{{"n", is_swapped ? 1 : 2}})["tool_calls"][0]);
    auto messages = begun();
    messages.push_back(turn);
    messages.push_back(message("tool", "x"));
    EXPECT_EQ(lab.ask(messages).split, is_swapped ? SplitCause::reply_changed : SplitCause::none);
  }
}
}  // namespace
}  // namespace corisco::gateway::fakes
