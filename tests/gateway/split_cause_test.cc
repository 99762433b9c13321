// Why a request does not go on: each cause by what an agent does.
#include "gateway/split_cause.h"

#include <gtest/gtest.h>

#include "gateway/conversation_lab.h"

namespace corisco::gateway::fakes {
namespace {
Json begun() { return Json::array({message("system", "Be brief."), message("user", "Count to three.")}); }

// Two turns are answered: "One." and "Two.".
struct SplitCauseTest : testing::Test {
  void SetUp() override {
    lab.turn(messages, "One.");
    messages.push_back(message("assistant", "One."));
    messages.push_back(message("user", "next"));
    lab.turn(messages, "Two.");
    messages.push_back(message("assistant", "Two."));
    messages.push_back(message("user", "and then?"));
  }
  SplitCause cause() { return lab.ask(messages).split; }

  Lab lab;
  Json messages = begun();
};

TEST_F(SplitCauseTest, GoingOnIsNone) {
  const auto asked = lab.ask(messages);
  EXPECT_EQ(asked.split, SplitCause::none);
  EXPECT_EQ(asked.match.calls.size(), 2U);
}

TEST_F(SplitCauseTest, AnotherConversation) {
  messages = Json::array({message("system", "You search."), message("user", "Find the file.")});
  EXPECT_EQ(cause(), SplitCause::new_conversation);
  messages = Json::array({message("system", "Be brief."), message("user", "Find the file.")});
  EXPECT_EQ(cause(), SplitCause::new_conversation);
}

TEST_F(SplitCauseTest, ASubAgentThatBeginsWithTheSameEnvironment) {
  Lab other;
  Json main = Json::array({message("user", "<environment>Linux, bash, /work</environment>"), message("user", "A")});
  other.turn(main, "One.");
  main[1]["content"] = "B";
  EXPECT_EQ(other.ask(main).split, SplitCause::new_conversation);
}

TEST_F(SplitCauseTest, AnotherSystemPrompt) {
  messages[0]["content"] = "Be very brief.";
  EXPECT_EQ(cause(), SplitCause::system_changed);
}

TEST_F(SplitCauseTest, OtherTools) {
  lab.tools_json = R"([{"type":"function","function":{"name":"ls"}}])";
  EXPECT_EQ(cause(), SplitCause::tools_changed);
}

TEST_F(SplitCauseTest, OtherTemplateArguments) {
  lab.kwargs_json = R"({"enable_thinking":false})";
  // The prompt's end differs alone: it still goes on.
  EXPECT_EQ(cause(), SplitCause::none);
}

// A template may write the past otherwise for reasons of its own.
TEST(SplitCause, ARewrittenPast) {
  Lab lab;
  const auto earlier_json = json_text(begun());
  auto later = begun();
  later.push_back(message("assistant", "One."));
  later.push_back(message("user", "next"));
  CallTree::Earlier earlier;
  earlier.messages = earlier_json;
  const ReplyReader reader({"hermes", true});
  EXPECT_EQ(split_cause({json_text(later), 0, 0, false}, {earlier}, reader), SplitCause::template_changed);
  EXPECT_EQ(split_cause({json_text(later), 0, 7, false}, {earlier}, reader), SplitCause::template_changed);
  EXPECT_EQ(split_cause({json_text(later), 7, 0, false}, {earlier}, reader), SplitCause::tools_changed);
}

TEST_F(SplitCauseTest, AnEditedMessage) {
  messages[1]["content"] = "Count to four.";
  EXPECT_EQ(cause(), SplitCause::history_changed);
  messages[1]["content"] = "Count to three.";
  messages[3]["content"] = "next one";
  const auto asked = lab.ask(messages);
  EXPECT_EQ(asked.split, SplitCause::history_changed);
  EXPECT_EQ(asked.match.calls.size(), 1U);   // up to the edit
}

TEST_F(SplitCauseTest, AnEditedReply) {
  messages[4]["content"] = "Two!";
  const auto asked = lab.ask(messages);
  EXPECT_EQ(asked.split, SplitCause::reply_changed);
  EXPECT_EQ(asked.match.calls.size(), 1U);
}

// mini-SWE-agent leaves out a turn that it could not use, and says why.
TEST_F(SplitCauseTest, ALeftOutReply) {
  messages.erase(4);
  messages[4]["content"] = "Your reply had no command.";
  const auto asked = lab.ask(messages);
  EXPECT_EQ(asked.split, SplitCause::history_dropped);
  EXPECT_EQ(asked.match.calls.size(), 1U);
}

TEST_F(SplitCauseTest, ASlidingWindow) {
  messages.erase(1);
  messages.erase(1);                     // "next" comes first now
  EXPECT_EQ(cause(), SplitCause::history_dropped);
}

TEST_F(SplitCauseTest, AnotherFollowUpIsAFork) {
  messages.erase(4);
  messages.erase(4);
  messages[3]["content"] = "something else";
  const auto asked = lab.ask(messages);
  EXPECT_EQ(asked.split, SplitCause::none);
  EXPECT_EQ(asked.match.calls.size(), 1U);
}

TEST_F(SplitCauseTest, TheSamePromptAgainHasTheCauseOfTheFirst) {
  messages.erase(4);
  messages.erase(4);
  EXPECT_EQ(cause(), SplitCause::none);
  messages = begun();
  EXPECT_EQ(cause(), SplitCause::first);
}

// The summary that the policy wrote opens the new history, in the words of each agent.
TEST_F(SplitCauseTest, Compaction) {
  const std::string summary = "We have counted to two and three is next.";
  messages.back()["content"] = "Summarise the conversation.";
  lab.turn(messages, cat("<think>\nhm\n</think>\n\n", summary, "\n"));
  messages = Json::array({message("system", "Be brief."),
                          message("user", cat("This session continues an earlier one. Summary:\n", summary))});
  EXPECT_EQ(cause(), SplitCause::history_dropped);
  messages.erase(0);                     // OpenHands: without its system prompt
  EXPECT_EQ(cause(), SplitCause::history_dropped);
  messages[0]["content"] = "Count to three.";   // Codex keeps user messages before it
  messages.push_back(message("user", summary));
  messages.insert(messages.begin(), message("system", "Be brief."));
  EXPECT_EQ(cause(), SplitCause::history_dropped);
}

TEST_F(SplitCauseTest, InterleavedConversationsGoOnEach) {
  Json side = Json::array({message("system", "You search."), message("user", "Find it.")});
  auto first = lab.ask(side);
  EXPECT_EQ(first.split, SplitCause::new_conversation);
  lab.turn(messages, "Three.");
  lab.reply(first, "Found.");            // finishes after the main one's next turn
  side.push_back(message("assistant", "Found."));
  side.push_back(message("user", "where?"));
  EXPECT_EQ(lab.ask(side).split, SplitCause::none);
  messages.push_back(message("assistant", "Three."));
  messages.push_back(message("user", "good"));
  const auto asked = lab.ask(messages);
  EXPECT_EQ(asked.split, SplitCause::none);
  EXPECT_EQ(asked.match.calls.size(), 3U);
}
}  // namespace
}  // namespace corisco::gateway::fakes
