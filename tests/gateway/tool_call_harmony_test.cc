// gpt-oss: channels, recipients, and what is told apart of them. Replies in the forms of the harmony guide and of
// gpt-oss' chat template; their end tokens are hidden by the choice's stream, or not.
#include "gateway/every_split.h"
#include "gateway/tool_calls/harmony_header.h"

namespace corisco::gateway::tool_calls::testing {
namespace {
MakeParser harmony(bool reads_calls = true, bool tells_reasoning = true) {
  return [=] { return make_harmony_parser(reads_calls, tells_reasoning); };
}
const std::string kThought = "<|channel|>analysis<|message|>Hm <b>.\n<|end|>";
const std::string kFinal = "<|start|>assistant<|channel|>final<|message|>So é.";
const std::string kCall =
    "<|start|>assistant<|channel|>commentary to=functions.ls <|constrain|>json<|message|>{\"a\":  1}";
const std::string kCallLog = "begin 0: ls\narguments 0: {\"a\":  1}\nend 0: ";

TEST(HarmonyHeader, TheWorkedExamples) {
  const auto before = read_harmony_header("assistant to=functions.ls<|channel|>commentary json");
  EXPECT_EQ(before.role, "assistant");
  EXPECT_EQ(before.channel, "commentary");
  EXPECT_EQ(before.tool(), "ls");
  const auto after = read_harmony_header("assistant<|channel|>commentary to=functions.ls <|constrain|>json");
  EXPECT_EQ(after.role, "assistant");
  EXPECT_EQ(after.channel, "commentary");
  EXPECT_EQ(after.tool(), "ls");
  EXPECT_EQ(read_harmony_header("to=python<|channel|>analysis code").tool(), "python");
  EXPECT_EQ(read_harmony_header("assistant to=user<|channel|>final").tool(), std::nullopt);
  EXPECT_EQ(read_harmony_header("assistant<|channel|>final").tool(), std::nullopt);
}

TEST(Harmony, EachChannel) {
  for (const std::string end : {"", "<|return|>"})
    EXPECT_EQ(read_every_way(harmony(), kThought + kFinal + end).log, "\nreasoning: Hm <b>.\n\ntext: So é.");
  EXPECT_EQ(read_every_way(harmony(), "<|channel|>final<|message|>So.").log, "\ntext: So.");
  EXPECT_EQ(read_every_way(harmony(), "<|message|>So.").log, "\ntext: So.");
  const auto second = "<|start|>assistant" + kThought;
  EXPECT_EQ(read_every_way(harmony(), kThought + second + kFinal).log, "\nreasoning: Hm <b>.\nHm <b>.\n\ntext: So é.");
  const auto preamble = "<|start|>assistant<|channel|>commentary<|message|>Let me look.<|end|>";
  EXPECT_EQ(read_every_way(harmony(), kThought + preamble + kCall).log,
            "\nreasoning: Hm <b>.\n\ntext: Let me look.\n" + kCallLog);
}

TEST(Harmony, CallsInEachForm) {
  for (const char* head : {"<|channel|>commentary to=functions.ls <|constrain|>json",
                           "<|channel|>commentary to=functions.ls json", " to=functions.ls<|channel|>commentary json",
                           "to=functions.ls<|channel|>commentary<|constrain|>json",
                           "<|start|>assistant to=functions.ls<|channel|>commentary json",
                           "<|channel|>analysis to=functions.ls", "<|start|>assistant to=ls<|channel|>commentary"})
    for (const char* end : {"", "<|call|>", "\n<|call|>", "<|end|>", "<|return|>"}) {
      const auto seen = read_every_way(harmony(), head + std::string("<|message|> {\"a\":  1}") + end);
      EXPECT_EQ(seen.log, "\n" + kCallLog) << head << end;
    }
  for (const char* nothing : {"", " ", "<|call|>", "\n<|call|>"})
    EXPECT_EQ(read_every_way(harmony(), "<|channel|>commentary to=functions.now<|message|>" + std::string(nothing)).log,
              "\nbegin 0: now\narguments 0: {}\nend 0: ");
  const auto other =
      "<|start|>assistant to=functions.nobody<|channel|>commentary json<|message|>{\"b\":\"<|end|>\"}<|call|>";
  EXPECT_EQ(read_every_way(harmony(), kThought + kCall + "<|call|>" + other + kFinal).log,
            "\nreasoning: Hm <b>.\n\n" + kCallLog +
                "\nbegin 1: nobody\narguments 1: {\"b\":\"<|end|>\"}\nend 1: \ntext: So é.");
  EXPECT_EQ(read_every_way(harmony(), kCall + kFinal).log, "\n" + kCallLog + "\ntext: So é.");   // without its end
}

TEST(Harmony, PlainTextIsText) {
  for (const std::string reply : {"Hello.", "", "to be or not\nto be", "a <|b|> c", "<|", "to=", "user said 'to=x'"})
    EXPECT_EQ(read_every_way(harmony(), reply).log, reply.empty() ? "" : "\ntext: " + reply);
}

TEST(Harmony, MalformedLosesNothing) {
  const auto head = std::string("<|channel|>commentary to=functions.f json<|message|>");
  const auto broken = read_every_way(harmony(), head + "{\"a\": }<|end|>" + kCall);
  ASSERT_EQ(broken.calls.size(), 2U) << broken.log;
  EXPECT_TRUE(broken.calls[0].is_broken);
  EXPECT_EQ(broken.all_text, head + "{\"a\": }<|end|>");
  EXPECT_EQ(broken.errors.size(), 1U);
  EXPECT_EQ(read_every_way(harmony(), head + "{\"a\": \"b").broken_text, head + "{\"a\": \"b");
  const auto code = "<|channel|>commentary to=python code<|message|>print(1)";
  EXPECT_EQ(read_every_way(harmony(), code).all_text, code);
  const auto trailing = read_every_way(harmony(), kCall + " word<|call|>");
  EXPECT_EQ(trailing.calls.size(), 1U);
  EXPECT_EQ(trailing.all_text, " word<|call|>");
  EXPECT_EQ(trailing.errors.size(), 1U);
  const auto endless = "<|channel|>" + std::string(400, 'x');
  for (const auto& bad : {std::string("<|channel|>final\n"), std::string("<|channel|>commentary<|end|>"), endless}) {
    const auto seen = read_every_way(harmony(), bad + kCall);
    EXPECT_EQ(seen.all_text, bad) << seen.log;
    EXPECT_EQ(seen.errors.size(), 1U) << bad;
    EXPECT_EQ(seen.calls.size(), 1U) << bad;
  }
  const auto other = read_every_way(harmony(), kThought + "<|start|>user<|message|>Next!");
  EXPECT_EQ(other.log, "\nreasoning: Hm <b>.\n\nerror: a message is not the assistant's\ntext broken: <|start|>"
                       "\ntext: user<|message|>Next!");
}

TEST(Harmony, WhatIsNotToldApartIsTextAsItWasWritten) {
  EXPECT_EQ(read_every_way(harmony(false), kThought + kCall).log, "\nreasoning: Hm <b>.\n\ntext: " + kCall);
  EXPECT_EQ(read_every_way(harmony(false), kThought + kCall + "<|call|>").log,
            "\nreasoning: Hm <b>.\n\ntext: " + kCall + "<|call|>");
  EXPECT_EQ(read_every_way(harmony(true, false), kThought + kCall).log, "\ntext: " + kThought + "\n" + kCallLog);
  EXPECT_EQ(read_every_way(harmony(true, false), kThought + kFinal).log, "\ntext: " + kThought + "So é.");
}

TEST(Harmony, TruncatedAnywhereKeepsWhatCame) {
  const auto reply = kThought + kCall + "<|call|>";
  for (std::size_t size = 0; size < reply.size(); ++size) {
    const auto seen = read_every_way(harmony(), reply.substr(0, size));
    const bool has_call = !seen.calls.empty() && !seen.calls[0].is_broken;
    const bool is_empty = has_call && seen.calls[0].arguments == "{}";   // nothing but the head came
    EXPECT_EQ(has_call && !is_empty, size >= kThought.size() + kCall.size()) << seen.log;
  }
}
}  // namespace
}  // namespace corisco::gateway::tool_calls::testing
