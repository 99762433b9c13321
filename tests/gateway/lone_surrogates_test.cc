// Half an emoji in a request, as JavaScript writes it, is understood and becomes U+FFFD.
#include "gateway/lone_surrogates.h"

#include "corisco/base/json.h"
#include "gateway/json_fields.h"
#include "gateway/server_fixture.h"

namespace corisco::gateway::fakes {
namespace {
using nlohmann::json;

TEST(LoneSurrogatesTest, EachIsReplacedAndNothingElse) {
  const std::pair<const char*, const char*> cases[] = {
      {R"(["a\ud83d"])", R"(["a\ufffd"])"},
      {R"(["\ude00b"])", R"(["\ufffdb"])"},
      {R"(["\uD83D\uD83D\uDE00"])", R"(["\ufffd\uD83D\uDE00"])"},
      {R"(["\ude00\ud83d"])", R"(["\ufffd\ufffd"])"},
      {R"(["\ud83dx\ud83d\n"])", R"(["\ufffdx\ufffd\n"])"},
      {R"(["\\\ud83d"])", R"(["\\\ufffd"])"},
  };
  for (const auto& [given, expected] : cases) EXPECT_EQ(with_lone_surrogates_replaced(given), expected);
}

TEST(LoneSurrogatesTest, WhereThereIsNoneNothingIsMade) {
  for (const char* given : {"", "\\", R"(["\ud83d\ude00"])", R"(["\\ud83d"])", R"(["\u00e9\"\ue000"])", R"(["\ud8)"})
    EXPECT_FALSE(with_lone_surrogates_replaced(given)) << given;
}

TEST(LoneSurrogatesTest, ABodyWithOneIsRead) {
  const auto read = parse_json_object(R"({"half\udc00":"\ud83d end"})");
  ASSERT_TRUE(std::holds_alternative<Json>(read));
  EXPECT_EQ(std::get<Json>(read)["half\xef\xbf\xbd"], "\xef\xbf\xbd end");
  EXPECT_TRUE(std::holds_alternative<ApiError>(parse_json_object(R"({"a":"\ud83d")"))) << "it has other faults";
}

struct HalfCharacterTest : ServerTest {};

TEST_F(HalfCharacterTest, AConversationGoesOnBehindACutEmoji) {
  start();
  const auto key = open_attempt(1);
  const std::string first = R"({"role":"user","content":"\ud83d"},{"role":"assistant","content":"hello"})";
  const std::string request = R"({"messages":[)" + first + R"(,{"role":"user","content":"on"}]})";
  EXPECT_EQ(ask(post("/v1/chat/completions", R"({"messages":[{"role":"user","content":"\ud83d"}]})", key)).status, 200);
  EXPECT_EQ(ask(post("/v1/chat/completions", request, key)).status, 200);
  const auto calls = on_io([this] { return sink.calls; });
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[1].split, SplitCause::none);
  EXPECT_EQ(parse_json(calls[1].request_json.items())[0]["content"], "\xef\xbf\xbd");
}
}  // namespace
}  // namespace corisco::gateway::fakes
