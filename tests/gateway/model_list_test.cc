// The model list in both APIs' forms, and what is said of a body that is no text.
#include "gateway/model_list.h"

#include "corisco/base/json.h"
#include "gateway/json_fields.h"
#include "gateway/server_fixture.h"
#include "gateway/utf8_check.h"

namespace corisco::gateway {
namespace {
using nlohmann::json;

TEST(ModelList, OpenAisForm) {
  EXPECT_EQ(parse_json(model_list_json({"a", "b"}, ErrorShape::openai)),
            json({{"object", "list"},
                  {"data", {{{"id", "a"}, {"object", "model"}, {"created", 0}, {"owned_by", "corisco"}},
                            {{"id", "b"}, {"object", "model"}, {"created", 0}, {"owned_by", "corisco"}}}}}));
}

TEST(ModelList, AnthropicsForm) {
  const json a = {{"type", "model"}, {"id", "a"}, {"display_name", "a"}, {"created_at", "1970-01-01T00:00:00Z"}};
  auto b = a;
  b["id"] = b["display_name"] = "b";
  EXPECT_EQ(parse_json(model_list_json({"a", "b"}, ErrorShape::anthropic)),
            json({{"data", {a, b}}, {"has_more", false}, {"first_id", "a"}, {"last_id", "b"}}));
  EXPECT_EQ(parse_json(model_json("a", ErrorShape::anthropic)), a);
}

// RFC 3629: the smallest and largest character of each length, and what is none.
TEST(Utf8Check, WhereTheFirstPieceBeginsThatIsNoCharacter) {
  for (const std::string text : {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                                 "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_EQ(invalid_utf8_at(text), std::nullopt) << text;
  for (const std::string piece : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2""a", "\xe0\x9f\xbf",
                                  "\xed\xa0\x80", "\xe2\x82", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80",
                                  "\xf5\x80\x80\x80", "\xff"})
    EXPECT_EQ(invalid_utf8_at("a\xc3\xa9" + piece), 3U);
}

TEST(Utf8Check, ABodyThatIsNotUtf8IsRefusedWithThePlace) {
  const auto refused = [](const std::string& body) {
    const auto parsed = parse_json_object(body);
    const auto* error = std::get_if<ApiError>(&parsed);
    return error == nullptr ? "accepted" : error->message;
  };
  EXPECT_EQ(refused("{\"a\":\"x\xff\"}"), "the body is not UTF-8: its byte 7 begins no character");
  EXPECT_EQ(refused("{\"a\":"), "the body is not valid JSON");
  EXPECT_EQ(refused("{\"a\":\"\xc3\xa9\"}"), "accepted");
}
}  // namespace

namespace fakes {
namespace {
struct ModelListServerTest : ServerTest {
  nlohmann::json of(const std::string& path, const std::string& headers = {}) {
    const auto reply = ask(cat("GET ", path, " HTTP/1.1\r\nHost: x\r\n", headers, "\r\n"));
    EXPECT_NE(reply.head.find("\r\nrequest-id: "), std::string::npos);
    return parse_json(reply.body);
  }
};

TEST_F(ModelListServerTest, TheVersionHeaderTellsTheApisApart) {
  start();
  const std::string version = "anthropic-version: 2023-06-01\r\n";
  EXPECT_EQ(of("/v1/models")["object"], "list");
  EXPECT_EQ(of("/v1/models", version)["first_id"], "tiny");
  EXPECT_EQ(of("/v1/models/x")["object"], "model");
  EXPECT_EQ(of("/v1/models/x", version)["type"], "model");
  const std::string wrong_key = "Authorization: Bearer cor-0123456789012345678901234567890123456789\r\n";
  EXPECT_EQ(of("/v1/models", wrong_key + version)["type"], "error");
  EXPECT_EQ(of("/v1/models", wrong_key)["error"]["code"], "invalid_api_key");
}
}  // namespace
}  // namespace fakes
}  // namespace corisco::gateway
