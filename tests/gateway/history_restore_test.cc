// Replies that came back bent are written as they were, and nothing else is touched.
#include "gateway/history_restore.h"

#include <gtest/gtest.h>

#include "corisco/base/json.h"

namespace corisco::gateway {
namespace {
using json = nlohmann::ordered_json;

StoredReplies one(StoredReply reply) { return {std::make_shared<const StoredReply>(std::move(reply))}; }

json user(const char* text) { return {{"role", "user"}, {"content", text}}; }
json with_call(const json& content, const char* id, const char* name, const char* arguments) {
  const json call = {{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}};
  return {{"role", "assistant"}, {"content", content}, {"tool_calls", json::array({call})}};
}

const StoredReply kBroken{CallId{7}, "Look.<tool_call>{bad", "Look.", "", {{"call_1", "ls", "{\"a\": b", true, ""}}};

TEST(HistoryRestore, ABrokenCallIsItsText) {
  const auto messages = json::array({user("go"), with_call("Look. ", "call_1", "invalid", "{\"tool\":\"ls\"}")});
  const auto restored = restore_replies(json_text(messages), one(kBroken), {});
  ASSERT_TRUE(restored.is_changed);
  EXPECT_EQ(restored.rewritten, std::vector{CallId{7}});
  const json expected = {{"role", "assistant"}, {"content", "Look.<tool_call>{bad"}};
  EXPECT_EQ(parse_ordered_json(restored.messages_json)[1], expected);
}

// Ids that models make are not unique over an attempt.
TEST(HistoryRestore, OfTwoRepliesWithOneCallIdNeither) {
  auto replies = one(kBroken);
  auto other = kBroken;
  other.call = CallId{8};
  replies.push_back(std::make_shared<const StoredReply>(other));
  const auto messages = json::array({user("go"), with_call("Look. ", "call_1", "ls", "{}")});
  EXPECT_FALSE(restore_replies(json_text(messages), replies, {}).is_changed);
}

TEST(HistoryRestore, NothingOfOthersIsTouched) {
  const std::vector<json> turns{
      with_call("Look.", "call_2", "ls", "{}"),              // not our id
      with_call("Something else.", "call_1", "ls", "{}"),    // not our text
      user("Look."),
  };
  for (const auto& turn : turns) {
    const auto restored = restore_replies(json_text(json::array({user("go"), turn})), one(kBroken), {});
    EXPECT_FALSE(restored.is_changed) << turn;
  }
  Restoring options;
  options.only = {CallId{8}};
  const auto messages = json::array({with_call("Look.", "call_1", "ls", "{}")});
  EXPECT_FALSE(restore_replies(json_text(messages), one(kBroken), options).is_changed);
}

TEST(HistoryRestore, ArgumentsThatTheFormatBentAreStraight) {
  const StoredCall call{"call_1", "patch", R"({"input":"x","why":1})", false, R"({"input":"x"})"};
  const StoredReply reply{CallId{7}, "", "", "", {call}};
  const auto bent = json::array({with_call("", "call_1", "patch", R"({"input": "x"})")});
  const auto restored = restore_replies(json_text(bent), one(reply), {});
  ASSERT_TRUE(restored.is_changed);
  EXPECT_EQ(parse_ordered_json(restored.messages_json)[0]["tool_calls"][0]["function"]["arguments"],
            R"({"input":"x","why":1})");
  const auto edited = json::array({with_call("", "call_1", "patch", R"({"input": "y"})")});
  EXPECT_FALSE(restore_replies(json_text(edited), one(reply), {}).is_changed);
}

TEST(HistoryRestore, ReasoningComesBackByIdOrByText) {
  const StoredReply called{CallId{7}, "", "", "Hm", {{"call_1", "ls", "{}", false, ""}}};
  const StoredReply said{CallId{8}, "Yes. ", "Yes. ", "So", {}};
  StoredReplies replies = one(called);
  replies.push_back(one(said).front());
  Restoring options;
  options.keeps_reasoning = true;
  auto messages = json::array({with_call(nullptr, "call_1", "ls", "{}"), {{"role", "assistant"}, {"content", "Yes."}}});
  const auto restored = parse_ordered_json(restore_replies(json_text(messages), replies, options).messages_json);
  EXPECT_EQ(restored[0]["reasoning_content"], "Hm");
  EXPECT_EQ(restored[1]["reasoning_content"], "So");
  // What the client kept is its own; and of two replies that read alike neither is guessed.
  messages[1]["reasoning"] = "Mine";
  messages.erase(0);
  EXPECT_FALSE(restore_replies(json_text(messages), replies, options).is_changed);
  messages[0].erase("reasoning");
  replies.push_back(one({CallId{9}, "Yes.", "Yes.", "Else", {}}).front());
  EXPECT_FALSE(restore_replies(json_text(messages), replies, options).is_changed);
}
}  // namespace
}  // namespace corisco::gateway
