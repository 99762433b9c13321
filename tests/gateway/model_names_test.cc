// Which model names are served: every one by default, else those that the config lists.
#include "corisco/base/json.h"
#include "gateway/server_fixture.h"

namespace corisco::gateway::fakes {
namespace {
using nlohmann::json;
struct ModelNamesTest : ServerTest {
  RawReply ask_for(const std::string& path, const std::string& model) {
    auto body = hi({{"max_tokens", 4}});
    if (!model.empty()) body["model"] = model;
    return ask(post(path, json_text(body)));
  }
};

TEST_F(ModelNamesTest, EveryNameIsServedByDefault) {
  start();
  EXPECT_EQ(parse_json(ask_for("/v1/chat/completions", "gpt-x").body)["model"], "gpt-x");
  EXPECT_EQ(ask(get("/v1/models/any")).status, 200);
  const auto list = parse_json(ask(get("/v1/models")).body);
  ASSERT_EQ(list["data"].size(), 1U);
  EXPECT_EQ(list["data"][0]["id"], "tiny");
}

TEST_F(ModelNamesTest, OnlyListedNamesAreServedIfAnyAre) {
  config.gateway.model_names = {"main", "org/small"};
  start();
  const auto list = parse_json(ask(get("/v1/models")).body);
  ASSERT_EQ(list["data"].size(), 2U);
  EXPECT_EQ(list["data"][0]["id"], "main");
  EXPECT_EQ(list["data"][1]["id"], "org/small");
  EXPECT_EQ(ask(get("/v1/models/org%2Fsmall")).status, 200);
  EXPECT_EQ(ask(get("/v1/models/tiny")).status, 404);
  EXPECT_EQ(ask_for("/v1/chat/completions", "main").status, 200);
  EXPECT_EQ(ask_for("/v1/messages", "org/small").status, 200);
  EXPECT_EQ(ask_for("/v1/chat/completions", "").status, 200) << "none was asked for";
}

TEST_F(ModelNamesTest, AnotherNameIsRefusedInTheShapeOfItsApi) {
  config.gateway.model_names = {"main"};
  start();
  auto reply = ask_for("/v1/chat/completions", "other");
  EXPECT_EQ(reply.status, 404);
  const auto error = parse_json(reply.body)["error"];
  EXPECT_EQ(error["code"], "model_not_found");
  EXPECT_EQ(error["type"], "invalid_request_error");
  EXPECT_EQ(error["param"], "model");
  for (const auto* path : {"/v1/messages", "/v1/messages/count_tokens"}) {
    reply = ask_for(path, "other");
    EXPECT_EQ(reply.status, 404) << path;
    EXPECT_EQ(parse_json(reply.body)["type"], "error") << path;
    EXPECT_EQ(parse_json(reply.body)["error"]["type"], "not_found_error") << path;
  }
  EXPECT_TRUE(on_io([this] { return generator.requests.empty(); }));
}
}  // namespace
}  // namespace corisco::gateway::fakes
