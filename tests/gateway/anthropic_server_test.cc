// Anthropic's messages end to end over sockets: events in their order, errors in their shape, and
// the same tokens, records and holds as any other call.
#include "corisco/base/json.h"
#include "gateway/server_fixture.h"

namespace corisco::gateway::fakes {
namespace {
using nlohmann::json;

struct AnthropicServerTest : ServerTest {
  static json ask_hi(const json& more = json::object()) {
    json body = {{"model", "claude-x"}, {"max_tokens", 32000}, {"messages", {{{"role", "user"}, {"content", "hi"}}}}};
    body.update(more);
    return body;
  }
  RawReply message(const json& body, const std::string& key = {}) {
    return ask(post("/v1/messages?beta=true", json_text(body), key));
  }
  // The data of a stream's events, each checked to be of the type that its name says.
  static std::vector<json> events_of(const std::string& stream) {
    std::vector<json> list;
    for (std::size_t at = 0, end = 0; (end = stream.find("\n\n", at)) != std::string::npos; at = end + 2) {
      const auto line = stream.find("\ndata: ", at);
      const auto data = parse_json(stream.substr(line + 7, end - line - 7));
      EXPECT_EQ(stream.substr(at, line - at), cat("event: ", data["type"].get<std::string>()));
      list.push_back(data);
    }
    return list;
  }
  // Types in their order; deltas in a row are one.
  static std::string order_of(const std::vector<json>& list) {
    std::vector<std::string> types;
    for (const auto& event : list) {
      const auto type = event["type"].get<std::string>();
      if (types.empty() || types.back() != type) types.push_back(type);
    }
    return join(types, " ");
  }
  static std::string text_of(const std::vector<json>& list) {
    std::string text;
    for (const auto& event : list)
      if (event["type"] == "content_block_delta") text += event["delta"]["text"].get<std::string>();
    return text;
  }
  static std::string error_type(const RawReply& reply) {
    const auto body = parse_json(reply.body);
    return body.is_object() && body.value("type", "") == "error" ? body["error"]["type"].get<std::string>() : reply.body;
  }
  static json usage_of(int input, int output) {
    return {{"input_tokens", input}, {"output_tokens", output},
            {"cache_creation_input_tokens", 0}, {"cache_read_input_tokens", 0}};
  }
};
constexpr const char* kWholeOrder =
    "message_start content_block_start ping content_block_delta content_block_stop message_delta message_stop";

TEST_F(AnthropicServerTest, WholeMessage) {
  start();
  const auto reply = message(ask_hi());
  ASSERT_EQ(reply.status, 200);
  const auto body = parse_json(reply.body);
  EXPECT_EQ(body["id"].get<std::string>().substr(0, 4), "msg_");
  EXPECT_EQ(body["type"], "message");
  EXPECT_EQ(body["role"], "assistant");
  EXPECT_EQ(body["model"], "claude-x");
  EXPECT_EQ(body["content"], json::array({{{"type", "text"}, {"text", "hello"}}}));
  EXPECT_EQ(body["stop_reason"], "end_turn");
  EXPECT_TRUE(body["stop_sequence"].is_null());
  // The same prompt as of a chat completion: 20 tokens; "hello" and the end token.
  EXPECT_EQ(body["usage"], usage_of(20, 6));
  const auto call = on_io([this] { return sink.calls.at(0); });
  EXPECT_EQ(call.tokens.back().id, kEnd);
  EXPECT_EQ(call.reply_text, "hello");
}

TEST_F(AnthropicServerTest, EventsComeInTheirOrder) {
  start();
  generator.reply = "h\xc3\xa9!";
  const auto reply = message(ask_hi({{"stream", true}}));
  ASSERT_EQ(reply.status, 200);
  EXPECT_NE(reply.head.find("text/event-stream"), std::string::npos);
  const auto list = events_of(reply.body);
  ASSERT_EQ(order_of(list), kWholeOrder);
  const auto& begun = list[0]["message"];
  EXPECT_EQ(begun["content"], json::array());
  EXPECT_TRUE(begun["stop_reason"].is_null());
  EXPECT_EQ(begun["usage"], usage_of(20, 0));
  EXPECT_EQ(list[1], json({{"type", "content_block_start"}, {"index", 0},
                           {"content_block", {{"type", "text"}, {"text", ""}}}}));
  EXPECT_EQ(list[3]["delta"], json({{"type", "text_delta"}, {"text", "h"}}));
  EXPECT_EQ(text_of(list), "h\xc3\xa9!");
  EXPECT_EQ(list[list.size() - 2],
            json({{"type", "message_delta"}, {"usage", usage_of(20, 5)},
                  {"delta", {{"stop_reason", "end_turn"}, {"stop_sequence", nullptr}}}}));
  EXPECT_EQ(reply.body.find("[DONE]"), std::string::npos);
}

TEST_F(AnthropicServerTest, AnEmptyReplyHasABlockToo) {
  start();
  generator.reply = "";
  EXPECT_EQ(order_of(events_of(message(ask_hi({{"stream", true}})).body)),
            "message_start content_block_start ping content_block_stop message_delta message_stop");
  EXPECT_EQ(parse_json(message(ask_hi()).body)["content"], json::array({{{"type", "text"}, {"text", ""}}}));
}

TEST_F(AnthropicServerTest, WhyItStopped) {
  start();
  const auto stops_with = [&](const json& more, const std::string& text, const json& reason, const json& sequence) {
    const auto whole = parse_json(message(ask_hi(more)).body);
    EXPECT_EQ(whole["content"][0]["text"], text);
    EXPECT_EQ(whole["stop_reason"], reason);
    EXPECT_EQ(whole["stop_sequence"], sequence);
    auto streamed = more;
    streamed["stream"] = true;
    const auto list = events_of(message(ask_hi(streamed)).body);
    EXPECT_EQ(text_of(list), text);
    EXPECT_EQ(list[list.size() - 2]["delta"], json({{"stop_reason", reason}, {"stop_sequence", sequence}}));
    EXPECT_EQ(list[list.size() - 2]["usage"], whole["usage"]);
  };
  generator.reply = "one STOP two";
  stops_with({{"stop_sequences", {"END", "STOP"}}}, "one ", "stop_sequence", "STOP");
  EXPECT_EQ(on_io([this] { return sink.calls.back().tokens.size(); }), 8U);
  stops_with({{"stop_sequences", {"END"}}}, "one STOP two", "end_turn", nullptr);
  stops_with({{"max_tokens", 3}}, "one", "max_tokens", nullptr);
}

TEST_F(AnthropicServerTest, KeysComeByEitherHeaderAndBothPaths) {
  config.gateway.unscoped = "refuse";
  start();
  const auto key = open_attempt(1);
  const auto status = [&](const std::string& path, const std::string& header) {
    const auto body = json_text(ask_hi());
    return ask(cat("POST ", path, " HTTP/1.1\r\nHost: x\r\n", header, "anthropic-version: 2023-06-01\r\nContent-Length: ",
                   body.size(), "\r\n\r\n", body)).status;
  };
  for (const auto* path : {"/v1/messages", "/v1/messages?beta=true", "/rollout/1/attempt/1/v1/messages?beta=true",
                           "/v1/messages/count_tokens", "/rollout/1/attempt/1/v1/messages/count_tokens?beta=true",
                           "/v1/chat/completions"}) {
    EXPECT_EQ(status(path, cat("x-api-key: ", key, "\r\n")), 200) << path;
    EXPECT_EQ(status(path, cat("Authorization: Bearer ", key, "\r\n")), 200) << path;
    EXPECT_EQ(status(path, "x-api-key: other\r\n"), 401) << path;
    EXPECT_EQ(status(path, ""), 401) << path;
  }
}

TEST_F(AnthropicServerTest, ALaterTurnGoesOnFromTheSampledIds) {
  start();
  const auto key = open_attempt(1);
  EXPECT_EQ(message(ask_hi(), key).status, 200);
  const json block = {{"type", "text"}, {"text", "hello"}, {"cache_control", {{"type", "ephemeral"}}}};
  const json later = {{"messages", {{{"role", "user"}, {"content", "hi"}},
                                    {{"role", "assistant"}, {"content", json::array({block})}},
                                    {{"role", "user"}, {"content", "more"}}}}};
  const auto counted = parse_json(ask(post("/v1/messages/count_tokens", json_text(later), key)).body)["input_tokens"];
  const auto body = parse_json(message(ask_hi(later), key).body);
  EXPECT_EQ(counted, body["usage"]["input_tokens"]);
  const auto calls = on_io([this] { return sink.calls; });
  ASSERT_EQ(calls.size(), 2U);
  auto expected = calls[0].prompt_ids.items();
  for (const auto& token : calls[0].tokens) expected.push_back(token.id);
  ASSERT_GT(calls[1].prompt_ids.size(), expected.size());
  const auto next = calls[1].prompt_ids.items();
  const auto begin = next.begin();
  EXPECT_EQ(std::vector<TokenId>(begin, begin + static_cast<std::ptrdiff_t>(expected.size())), expected);
  EXPECT_EQ(calls[1].turn, 1U);
  EXPECT_TRUE(calls[1].is_trainable);
  EXPECT_DOUBLE_EQ(metrics.counter("corisco_gateway_continued_calls_total", {"continued"}).value(), 1);
}

TEST_F(AnthropicServerTest, CountingSamplesNothingAndWaitsForNobody) {
  start();
  on_io([this] { gate.shut(); return 0; });
  const auto key = open_attempt(1);
  const auto reply = ask(post("/v1/messages/count_tokens", json_text(ask_hi()), key));
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(parse_json(reply.body), json({{"input_tokens", 20}}));
  EXPECT_TRUE(on_io([this] { return generator.requests.empty() && sink.calls.empty(); }));
  EXPECT_EQ(on_io([this] { return attempts.summary({RolloutId{1}, 1}).num_calls; }), 0U);
  EXPECT_EQ(error_type(ask(post("/v1/messages/count_tokens", "{}", key))), "invalid_request_error");
}

TEST_F(AnthropicServerTest, APromptThatDoesNotFitSaysSoInTheWordsThatAgentsKnow) {
  start();
  generator.context = 20;
  const auto key = open_attempt(1);
  const auto reply = message(ask_hi(), key);
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(parse_json(reply.body),
            json({{"type", "error"},
                  {"error", {{"type", "invalid_request_error"}, {"message", "prompt is too long: 20 tokens > 19 maximum"}}}}));
  EXPECT_TRUE(on_io([this] { return attempts.summary({RolloutId{1}, 1}).hit_context; }));
}

TEST_F(AnthropicServerTest, ErrorsHaveAnthropicsShape) {
  config.gateway.body_bytes_max = 2000;
  start();
  const auto key = open_attempt(1);
  const auto is = [&](const RawReply& reply, int status, const std::string& type) {
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_EQ(error_type(reply), type);
  };
  is(ask(post("/v1/messages", "{\"messages\": [}")), 400, "invalid_request_error");
  const json image = {{"messages", {{{"role", "user"}, {"content", {{{"type", "image"}}}}}}}};
  const auto refused = message(image);
  is(refused, 400, "invalid_request_error");
  EXPECT_NE(refused.body.find("an image"), std::string::npos);
  is(message(ask_hi({{"messages", {{{"role", "alien"}, {"content", "x"}}}}})), 400, "invalid_request_error");
  is(message(ask_hi(), "cor-0123456789012345678901234567890123456789"), 401, "authentication_error");
  is(ask(post("/rollout/9/attempt/1/v1/messages", json_text(ask_hi()), key)), 404, "not_found_error");
  is(ask(get("/v1/messages")), 405, "invalid_request_error");
  is(message(ask_hi({{"system", std::string(2000, 'x')}})), 413, "request_too_large");
  on_io([this] { return generator.is_full = true; });
  const auto later = message(ask_hi());
  is(later, 429, "rate_limit_error");
  EXPECT_NE(later.head.find("Retry-After: "), std::string::npos);
  on_io([this] { generator.is_full = false; sink.is_broken = true; return 0; });
  is(message(ask_hi()), 500, "api_error");
}

TEST_F(AnthropicServerTest, AClosedGateIsToldAsOverload) {
  start();
  on_io([this] { gate.shut(); return 0; });
  RawClient client(port);
  client.send(post("/v1/messages", json_text(ask_hi())));
  ASSERT_TRUE(eventually([this] { return gate.num_waiting() == 1; }));
  on_io([this] { gate.close(); return 0; });
  const auto reply = client.read_reply();
  EXPECT_EQ(reply.status, 529);
  EXPECT_EQ(error_type(reply), "overloaded_error");
  EXPECT_NE(reply.head.find("Retry-After: "), std::string::npos);
}

TEST_F(AnthropicServerTest, AnErrorInsideAStreamIsItsLastEvent) {
  start();
  generator.is_manual = true;
  RawClient client(port);
  client.send(post("/v1/messages", json_text(ask_hi({{"stream", true}}))));
  ASSERT_TRUE(client.wait_for("message_start"));
  on_io([this] {
    generator.give(RequestId{1}, {'a'}, {});
    generator.give(RequestId{1}, {}, {}, Error{Code::internal, "the device failed"});
    return 0;
  });
  const auto list = events_of(client.read_reply().body);
  EXPECT_EQ(list.back(), json({{"type", "error"}, {"error", {{"type", "api_error"}, {"message", "the device failed"}}}}));
}

TEST_F(AnthropicServerTest, ALongHoldShowsSignsOfLife) {
  silent_hold = std::chrono::milliseconds(50);
  start();
  on_io([this] { gate.shut(); return 0; });
  RawClient stream(port), whole(port);
  stream.send(post("/v1/messages", json_text(ask_hi({{"stream", true}}))));
  whole.send(post("/v1/messages", json_text(ask_hi())));
  ASSERT_TRUE(stream.wait_for("event: ping\ndata: {\"type\":\"ping\"}\n\n"));
  ASSERT_TRUE(whole.wait_for("1\r\n \r\n"));
  on_io([this] { gate.open(); return 0; });
  auto list = events_of(stream.read_reply().body);
  EXPECT_EQ(list.front()["type"], "ping");
  std::erase_if(list, [](const json& event) { return event["type"] == "ping"; });   // more may come on a busy machine
  EXPECT_EQ(order_of(list),
            "message_start content_block_start content_block_delta content_block_stop message_delta message_stop");
  EXPECT_EQ(parse_json(whole.read_reply().body)["content"][0]["text"], "hello");
}
}  // namespace
}  // namespace corisco::gateway::fakes
