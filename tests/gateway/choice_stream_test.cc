// Deltas of any size give the same text, and no part of a stop string or half a character.
#include "gateway/choice_stream.h"

#include <gtest/gtest.h>

#include "gateway/fakes.h"

namespace corisco::gateway {
namespace {
using fakes::ByteTokenizer;
using fakes::kEnd;

GenerateDelta delta_of(std::string_view text, std::optional<FinishReason> finish = {}) {
  GenerateDelta delta;
  for (const char c : text) delta.tokens.push_back({static_cast<unsigned char>(c), -1, -1, {}});
  if (finish == FinishReason::stop) delta.tokens.push_back({kEnd, -1, -1, {}});
  delta.finish = finish;
  return delta;
}

TEST(ChoiceStream, EverySplitShowsTheSameText) {
  const std::string sampled = "a\xc3\xa9 ST\xf0\x9f\x98\x80 ST";
  for (std::size_t cut = 0; cut <= sampled.size(); ++cut) {
    ChoiceStream stream(std::make_shared<ByteTokenizer>(), {"STOP"}, {kEnd});
    std::string shown = stream.push(delta_of(sampled.substr(0, cut))).text;
    EXPECT_EQ(shown.find("ST", shown.size() < 2 ? 0 : shown.size() - 2), std::string::npos) << cut;
    shown += stream.push(delta_of(sampled.substr(cut), FinishReason::stop)).text;
    EXPECT_EQ(shown, sampled);
    EXPECT_EQ(stream.text(), sampled);
    EXPECT_EQ(stream.tokens().size(), sampled.size() + 1);
  }
}

TEST(ChoiceStream, AStopStringEndsItWhateverTheGeneratorSays) {
  ChoiceStream stream(std::make_shared<ByteTokenizer>(), {"ab"}, {});
  EXPECT_EQ(stream.push(delta_of("xa")).text, "x");
  EXPECT_FALSE(stream.finish());
  const auto piece = stream.push(delta_of("bc"));
  EXPECT_EQ(piece.text, "");
  EXPECT_EQ(piece.tokens.size(), 2U);    // all that was sampled in that step
  EXPECT_EQ(stream.finish(), FinishReason::stop);
  EXPECT_EQ(stream.push(delta_of("more")).tokens.size(), 0U);
  EXPECT_EQ(stream.tokens().size(), 4U);
  EXPECT_EQ(stream.text(), "x");
  EXPECT_EQ(stream.stop_string(), "ab");
}

TEST(ChoiceStream, ReasoningIsCountedInTokensAtEverySplit) {
  const std::string sampled = "<think>abc</think>de";
  for (std::size_t cut = 0; cut <= sampled.size(); ++cut) {
    ReplyReading reading;
    reading.parser = tool_calls::make_reasoning_parser({}, false, nullptr);
    ChoiceStream stream(std::make_shared<ByteTokenizer>(), {}, {kEnd}, std::move(reading));
    (void)stream.push(delta_of(sampled.substr(0, cut)));
    (void)stream.push(delta_of(sampled.substr(cut), FinishReason::stop));
    EXPECT_EQ(stream.num_reasoning_tokens(), 11U) << cut;   // "abc</think>", a token a byte
    ASSERT_EQ(stream.parts().size(), 2U);
    EXPECT_EQ(stream.parts()[0].text, "abc");
    EXPECT_EQ(stream.parts()[1].text, "de");
  }
}

std::string call_of_kimi(const std::string& id) {
  return "<|tool_call_begin|>" + id + "<|tool_call_argument_begin|>{}<|tool_call_end|>";
}

TEST(ChoiceStream, AModelsOwnCallIdsAreKeptIfTheyDiffer) {
  ReplyReading reading;
  reading.parser = std::move(tool_calls::make_tool_parser("kimi_k2", nlohmann::ordered_json::array())).value();
  reading.call_id_seed = "seed";
  ChoiceStream stream(std::make_shared<ByteTokenizer>(), {}, {kEnd}, std::move(reading));
  const auto reply = call_of_kimi("functions.ls:3") + call_of_kimi("functions.ls:4") + call_of_kimi("functions.ls:3");
  (void)stream.push(delta_of(reply, FinishReason::stop));
  std::vector<std::string> ids;
  for (const auto& part : stream.parts())
    if (part.kind == tool_calls::Event::Kind::call_begin) ids.push_back(part.call_id);
  ASSERT_EQ(ids.size(), 3U);
  EXPECT_EQ(ids[0], "functions.ls:3");
  EXPECT_EQ(ids[1], "functions.ls:4");
  EXPECT_EQ(ids[2].substr(0, 5), "call_");
}

TEST(ChoiceStream, HiddenIdsAreNotShown) {
  ChoiceStream stream(std::make_shared<ByteTokenizer>(), {}, {'!'});
  EXPECT_EQ(stream.push(delta_of("ok!", FinishReason::length)).text, "ok");
  EXPECT_EQ(stream.finish(), FinishReason::length);
  EXPECT_EQ(stream.stop_string(), "");
  EXPECT_EQ(stream.tokens().size(), 3U);
}
}  // namespace
}  // namespace corisco::gateway
