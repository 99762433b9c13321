// The Responses API end to end over sockets: events in their exact order, the same streamed or not,
// earlier responses of a rollout, and the same tokens, records and holds as any other call.
#include <set>

#include "corisco/base/json.h"
#include "gateway/server_fixture.h"

namespace corisco::gateway::fakes {
namespace {
using nlohmann::json;

struct ResponsesServerTest : ServerTest {
  ResponsesServerTest() { config.sampling.max_tokens = 512; }

  static json ask_hi(json more = json::object()) {
    more["input"] = "hi";
    return more;
  }
  RawReply respond(const json& body, const std::string& key = {}) {
    return ask(post("/v1/responses", json_text(body), key));
  }
  json whole(const json& body, const std::string& key = {}) { return parse_json(respond(body, key).body); }
  std::vector<json> stream(json body, const std::string& key = {}) {
    body["stream"] = true;
    return events_of(respond(body, key).body);
  }
  // The data of a stream's events, each checked to be of the type that its name says, and numbered.
  static std::vector<json> events_of(const std::string& bytes) {
    std::vector<json> list;
    for (std::size_t at = 0, end = 0; (end = bytes.find("\n\n", at)) != std::string::npos; at = end + 2) {
      const auto line = bytes.find("\ndata: ", at);
      const auto data = parse_json(bytes.substr(line + 7, end - line - 7));
      EXPECT_EQ(bytes.substr(at, line - at), cat("event: ", data["type"].get<std::string>()));
      EXPECT_EQ(data["sequence_number"], list.size());
      list.push_back(data);
    }
    return list;
  }
  // Types in their order, without their common beginning; deltas in a row are one.
  static std::string order_of(const std::vector<json>& list) {
    std::vector<std::string> types;
    for (const auto& event : list) {
      const auto type = event["type"].get<std::string>().substr(std::string("response.").size());
      if (types.empty() || types.back() != type) types.push_back(type);
    }
    return join(types, " ");
  }
  // Builds the output from nothing but the deltas, as a client does, and checks what each done repeats.
  static json output_of(const std::vector<json>& list) {
    json items = json::array();
    std::map<int, std::string> texts;
    for (const auto& event : list) {
      const auto type = event["type"].get<std::string>();
      const int index = event.value("output_index", -1);
      if (ends_with(type, ".delta")) texts[index] += event["delta"].get<std::string>();
      for (const char* name : {"text", "arguments", "input"}) {
        if (ends_with(type, ".done") && event.contains(name)) {
          EXPECT_EQ(event[name], texts[index]) << type;
        }
      }
      if (type != "response.output_item.done") continue;
      EXPECT_EQ(index, static_cast<int>(items.size()));
      items.push_back(event["item"]);
    }
    return items;
  }
  // Ids differ from request to request.
  static json without_ids(json items) {
    for (auto& item : items) {
      item.erase("id");
      item.erase("call_id");
    }
    return items;
  }
  static json text_part(const std::string& text) {
    return {{"type", "output_text"}, {"text", text}, {"annotations", json::array()}, {"logprobs", json::array()}};
  }
  static json message_item(const std::string& text, const std::string& status = "completed") {
    return {{"type", "message"}, {"role", "assistant"}, {"status", status},
            {"content", json::array({text_part(text)})}};
  }
  static json usage_of(int input, int output, int reasoning = 0) {
    return {{"input_tokens", input}, {"input_tokens_details", {{"cached_tokens", 0}, {"cache_write_tokens", 0}}},
            {"output_tokens", output}, {"output_tokens_details", {{"reasoning_tokens", reasoning}}},
            {"total_tokens", input + output}};
  }
  static std::string error_code(const RawReply& reply) {
    const auto body = parse_json(reply.body);
    return body.is_object() && body.contains("error") ? body["error"]["code"].get<std::string>() : reply.body;
  }
  std::vector<TokenId> prompt_of(std::size_t request) {
    return on_io([this, request] { return generator.requests.at(request).prompt_ids; });
  }
  // As PlainTemplate writes it.
  static std::string said(const std::string& role, const std::string& text) {
    return cat("<|start|>", role, ":", text, "<|end|>");
  }
  static std::string asked(const std::string& conversation) { return cat(conversation, "<|start|>assistant:"); }
  std::string prompt_text(std::size_t request) { return ByteTokenizer().decode(prompt_of(request), true); }
};
constexpr const char* kTextOrder =
    "created in_progress output_item.added content_part.added output_text.delta output_text.done content_part.done "
    "output_item.done completed";

TEST_F(ResponsesServerTest, WholeResponse) {
  start();
  const auto reply = respond(ask_hi({{"model", "gpt-x"}, {"metadata", {{"a", "b"}}}, {"temperature", 0.5}}));
  ASSERT_EQ(reply.status, 200);
  const auto body = parse_json(reply.body);
  EXPECT_EQ(body["id"].get<std::string>().substr(0, 5), "resp_");
  EXPECT_EQ(body["object"], "response");
  EXPECT_EQ(body["status"], "completed");
  EXPECT_EQ(body["model"], "gpt-x");
  EXPECT_TRUE(body["created_at"].is_number());
  EXPECT_TRUE(body["error"].is_null());
  EXPECT_TRUE(body["incomplete_details"].is_null());
  EXPECT_EQ(body["metadata"], json({{"a", "b"}}));
  EXPECT_EQ(body["temperature"], 0.5);
  EXPECT_EQ(body["parallel_tool_calls"], true);
  EXPECT_EQ(body["tool_choice"], "auto");
  EXPECT_EQ(body["tools"], json::array());
  EXPECT_EQ(without_ids(body["output"]), json::array({message_item("hello")}));
  EXPECT_EQ(body["output"][0]["id"].get<std::string>().substr(0, 4), "msg_");
  // The same prompt as of a chat completion: 20 tokens; "hello" and the end token.
  EXPECT_EQ(body["usage"], usage_of(20, 6));
  const auto call = on_io([this] { return sink.calls.at(0); });
  EXPECT_EQ(call.tokens.back().id, kEnd);
  EXPECT_EQ(call.reply_text, "hello");
}

TEST_F(ResponsesServerTest, EventsComeInTheirOrder) {
  start();
  generator.reply = "h\xc3\xa9!";
  const auto reply = respond(ask_hi({{"stream", true}}));
  ASSERT_EQ(reply.status, 200);
  EXPECT_NE(reply.head.find("text/event-stream"), std::string::npos);
  const auto list = events_of(reply.body);
  ASSERT_EQ(order_of(list), kTextOrder);
  EXPECT_EQ(reply.body.find("[DONE]"), std::string::npos);
  for (const std::size_t at : {0U, 1U}) {
    EXPECT_EQ(list[at]["response"]["status"], "in_progress");
    EXPECT_EQ(list[at]["response"]["output"], json::array());
    EXPECT_TRUE(list[at]["response"]["usage"].is_null());
  }
  const auto id = list[2]["item"]["id"];
  EXPECT_EQ(list[2]["item"], json({{"id", id}, {"type", "message"}, {"role", "assistant"}, {"status", "in_progress"},
                                   {"content", json::array()}}));
  EXPECT_EQ(list[3]["part"], text_part(""));
  EXPECT_EQ(list[4], json({{"type", "response.output_text.delta"}, {"sequence_number", 4}, {"item_id", id},
                           {"output_index", 0}, {"content_index", 0}, {"delta", "h"}, {"logprobs", json::array()}}));
  const auto& ended = list.back()["response"];
  EXPECT_EQ(ended["id"], list[0]["response"]["id"]);
  EXPECT_EQ(ended["status"], "completed");
  EXPECT_EQ(ended["usage"], usage_of(20, 5));
  EXPECT_EQ(ended["output"], output_of(list));
  EXPECT_EQ(without_ids(ended["output"]), json::array({message_item("h\xc3\xa9!")}));
}

TEST_F(ResponsesServerTest, AnEmptyReplyHasAnItemToo) {
  start();
  generator.reply = "";
  EXPECT_EQ(without_ids(output_of(stream(ask_hi()))), json::array({message_item("")}));
  EXPECT_EQ(without_ids(whole(ask_hi())["output"]), json::array({message_item("")}));
}

TEST_F(ResponsesServerTest, ACutReplyIsIncomplete) {
  start();
  const auto body = ask_hi({{"max_output_tokens", 3}});
  const auto cut = whole(body);
  EXPECT_EQ(cut["status"], "incomplete");
  EXPECT_EQ(cut["incomplete_details"], json({{"reason", "max_output_tokens"}}));
  EXPECT_EQ(without_ids(cut["output"]), json::array({message_item("hel", "incomplete")}));
  EXPECT_EQ(cut["usage"], usage_of(20, 3));
  const auto list = stream(body);
  EXPECT_EQ(list.back()["type"], "response.incomplete");
  EXPECT_EQ(list.back()["response"]["incomplete_details"], cut["incomplete_details"]);
  EXPECT_EQ(without_ids(list.back()["response"]["output"]), without_ids(cut["output"]));
}

// One entry a token, with its alternatives; the end token, which shows nothing, has none.
TEST_F(ResponsesServerTest, LogprobsOfTheTextIfTheyAreIncluded) {
  start();
  generator.reply = "h\xc3\xa9!";
  const json included = {{"include", {"message.output_text.logprobs"}}, {"top_logprobs", 2}};
  const auto body = whole(ask_hi(included));
  EXPECT_EQ(body["top_logprobs"], 2);
  const auto logprobs = body["output"][0]["content"][0]["logprobs"];
  ASSERT_EQ(logprobs.size(), 4U);
  const json z = {{"token", "z"}, {"logprob", -2.0}, {"bytes", {122}}};
  const json h = {{"token", "h"}, {"logprob", -0.5}, {"bytes", {104}}};
  auto first = h;
  first["top_logprobs"] = json::array({h, z});
  EXPECT_EQ(logprobs[0], first);
  EXPECT_EQ(logprobs[1]["bytes"], json::array({0xc3}));   // half a character
  EXPECT_EQ(logprobs[3]["token"], "!");

  const auto list = stream(ask_hi(included));
  json told = json::array();
  for (const auto& event : list) {
    if (event["type"] == "response.output_text.delta")
      told.insert(told.end(), event["logprobs"].begin(), event["logprobs"].end());
    if (event["type"] == "response.output_text.done") {
      EXPECT_EQ(event["logprobs"], logprobs);
    }
  }
  EXPECT_EQ(told, logprobs);
  EXPECT_EQ(list.back()["response"]["output"][0]["content"][0]["logprobs"], logprobs);
  EXPECT_EQ(whole(ask_hi({{"top_logprobs", 2}}))["output"][0]["content"][0]["logprobs"], json::array());
}

// --- tools and reasoning

struct ResponsesToolTest : ResponsesServerTest {
  ResponsesToolTest() { reply_syntax = {.tool_parser = "hermes", .has_reasoning = true}; }
  static json with_tools(json more = json::object()) {
    more["tools"] = {
        {{"type", "function"}, {"name", "ls"}, {"strict", false}, {"parameters", json::object()}},
        {{"type", "namespace"}, {"name", "team"}, {"tools", {{{"type", "function"}, {"name", "ask"}}}}},
        {{"type", "custom"}, {"name", "patch"}, {"description", "d"}},
        {{"type", "local_shell"}}, {{"type", "shell"}}, {{"type", "web_search"}}};
    return ask_hi(std::move(more));
  }
  static std::string written(const std::string& name, const std::string& arguments) {
    return cat("<tool_call>\n{\"name\": \"", name, "\", \"arguments\": ", arguments, "}\n</tool_call>");
  }
  // The items, which must be the same streamed or not.
  json items(const json& body) {
    const auto not_streamed = without_ids(whole(body)["output"]);
    const auto list = stream(body);
    EXPECT_EQ(list.back()["response"]["output"], output_of(list));
    EXPECT_EQ(without_ids(output_of(list)), not_streamed);
    return not_streamed;
  }
};

TEST_F(ResponsesToolTest, ReasoningTextAndCallsAreItemsInTheirOrder) {
  start();
  const std::string arguments = "{ \"path\" :  \"a \\u00e9\\/b\" }";
  generator.reply =
      cat("<think>\nHm.\n</think>\n\nLet me look.\n", written("ls", arguments), "\n", written("ls", "{}"));
  const auto list = stream(with_tools());
  EXPECT_EQ(order_of(list),
            "created in_progress output_item.added reasoning_text.delta reasoning_text.done output_item.done "
            "output_item.added content_part.added output_text.delta output_text.done content_part.done "
            "output_item.done output_item.added function_call_arguments.delta function_call_arguments.done "
            "output_item.done output_item.added function_call_arguments.delta function_call_arguments.done "
            "output_item.done completed");
  const auto output = output_of(list);
  ASSERT_EQ(output.size(), 4U);
  EXPECT_EQ(output[0]["summary"], json::array());
  EXPECT_EQ(output[0]["content"][0]["type"], "reasoning_text");
  EXPECT_FALSE(output[0].contains("encrypted_content"));
  EXPECT_EQ(output[1]["content"][0]["text"], "\n\nLet me look.\n");
  EXPECT_EQ(output[2]["arguments"], arguments);   // as it was sampled
  EXPECT_EQ(output[2]["name"], "ls");
  EXPECT_EQ(output[2]["status"], "completed");
  EXPECT_EQ(output[2]["call_id"].get<std::string>().substr(0, 5), "call_");
  EXPECT_NE(output[2]["call_id"], output[3]["call_id"]);
  std::set<std::string> prefixes, ids;
  for (const auto& item : output) {
    const auto id = item["id"].get<std::string>();
    ids.insert(id);
    prefixes.insert(id.substr(0, 3));
  }
  EXPECT_EQ(ids.size(), 4U);
  EXPECT_EQ(prefixes, (std::set<std::string>{"rs_", "msg", "fc_"}));
  EXPECT_GT(list.back()["response"]["usage"]["output_tokens_details"]["reasoning_tokens"].get<int>(), 4);
  EXPECT_EQ(items(with_tools()), without_ids(output));
}

TEST_F(ResponsesToolTest, LogprobsAreThoseOfTheTextAlone) {
  start();
  generator.reply = cat("<think>\nHm.\n</think>\n\nLet me look.\n", written("ls", "{}"));
  const auto output = items(with_tools({{"include", {"message.output_text.logprobs"}}}));
  ASSERT_EQ(output.size(), 3U);
  std::string tokens;
  for (const auto& token : output[1]["content"][0]["logprobs"]) tokens += token["token"].get<std::string>();
  // From the end of the reasoning on, its closing tag included, to the text's end.
  EXPECT_EQ(tokens.find("Hm."), std::string::npos);
  EXPECT_EQ(tokens.find("tool_call"), std::string::npos);
  EXPECT_NE(tokens.find("\n\nLet me look."), std::string::npos) << tokens;
  for (const std::size_t other : {0U, 2U}) EXPECT_EQ(json_text(output[other]).find("logprob"), std::string::npos);
}

TEST_F(ResponsesToolTest, NamespacesAreRestored) {
  start();
  generator.reply = written("team__ask", "{\"q\": 1}");
  const auto called = items(with_tools());
  ASSERT_EQ(called.size(), 1U);
  EXPECT_EQ(called[0], json({{"type", "function_call"}, {"status", "completed"}, {"name", "ask"}, {"namespace", "team"},
                             {"arguments", "{\"q\": 1}"}}));
  generator.reply = written("nobody", "{}");   // an unknown tool is passed on
  EXPECT_EQ(items(with_tools())[0]["name"], "nobody");
}

TEST_F(ResponsesToolTest, ACustomToolGetsItsInput) {
  start();
  generator.reply = written("patch", "{\"input\": \"*** Begin\\n+h\\u00e9\\n\"}");
  const auto list = stream(with_tools());
  EXPECT_EQ(order_of(list), "created in_progress output_item.added custom_tool_call_input.delta "
                            "custom_tool_call_input.done output_item.done completed");
  EXPECT_EQ(list[2]["item"]["input"], "");
  EXPECT_EQ(output_of(list)[0]["id"].get<std::string>().substr(0, 4), "ctc_");
  EXPECT_EQ(items(with_tools())[0],
            json({{"type", "custom_tool_call"}, {"status", "completed"}, {"name", "patch"},
                  {"input", "*** Begin\n+h\xc3\xa9\n"}}));
  generator.reply = written("patch", "{\"text\": 1}");   // not what was asked for: all of it, rather than nothing
  EXPECT_EQ(items(with_tools())[0]["input"], "{\"text\": 1}");
}

TEST_F(ResponsesToolTest, AShellGetsItsAction) {
  start();
  generator.reply = cat(written("local_shell", "{\"command\": [\"ls\", \"-l\"]}"),
                        written("shell", "{\"commands\": [\"ls\"]}"));
  const auto called = items(with_tools());
  ASSERT_EQ(called.size(), 2U);
  EXPECT_EQ(called[0], json({{"type", "local_shell_call"}, {"status", "completed"},
                             {"action", {{"type", "exec"}, {"command", {"ls", "-l"}}, {"env", json::object()}}}}));
  EXPECT_EQ(called[1], json({{"type", "shell_call"}, {"status", "completed"}, {"action", {{"commands", {"ls"}}}}}));
  generator.reply = written("local_shell", "{\"command\": \"ls\"}");   // no list: nobody could run it
  EXPECT_EQ(items(with_tools())[0], json({{"type", "function_call"}, {"status", "completed"}, {"name", "local_shell"},
                                          {"arguments", "{\"command\": \"ls\"}"}}));
}

TEST_F(ResponsesToolTest, ACallThatIsCutOffShowsAsFarAsItCame) {
  start();
  generator.reply = written("ls", "{\"path\": \"a b c d\"}");
  const auto body = with_tools({{"max_output_tokens", 51}});
  const auto called = items(body);
  ASSERT_EQ(called.size(), 1U);
  EXPECT_EQ(called[0]["status"], "incomplete");
  const auto arguments = called[0]["arguments"].get<std::string>();
  EXPECT_FALSE(arguments.empty());
  EXPECT_EQ(std::string("{\"path\": \"a b c d\"}").substr(0, arguments.size()), arguments);
  EXPECT_EQ(whole(body)["status"], "incomplete");
}

TEST_F(ResponsesToolTest, WithNoneWantedItIsText) {
  start();
  generator.reply = written("ls", "{}");
  EXPECT_EQ(items(with_tools({{"tool_choice", "none"}})), json::array({message_item(generator.reply)}));
}

// What a client gets, sent back as it came, is the turn that was sampled.
TEST_F(ResponsesToolTest, OutputSentBackIsTheTurnAgain) {
  start();
  const auto key = open_attempt(1);
  generator.reply = "<think>\nHm.\n</think>\n\nhello";
  const auto first = whole(with_tools({{"include", {"reasoning.encrypted_content"}}}), key);
  const auto& thought = first["output"][0];
  ASSERT_TRUE(thought["encrypted_content"].is_string());
  EXPECT_EQ(thought["encrypted_content"].get<std::string>().find("Hm."), std::string::npos);
  json again = json::array({{{"role", "user"}, {"content", "hi"}}});
  for (const auto& item : first["output"]) again.push_back(item);
  again.push_back({{"role", "user"}, {"content", "more"}});
  EXPECT_EQ(respond({{"input", again}}, key).status, 200);
  EXPECT_EQ(prompt_text(1), asked(cat(said("user", "hi"), said("assistant", "\n\nhello"), said("user", "more"))));
}

// --- earlier responses

TEST_F(ResponsesServerTest, AResponseGoesOnFromAnEarlierOne) {
  start();
  const auto key = open_attempt(1);
  const auto first = whole(ask_hi({{"instructions", "brief"}}), key)["id"];
  const auto list = stream({{"input", "more"}, {"previous_response_id", first}}, key);
  EXPECT_EQ(list.back()["response"]["previous_response_id"], first);
  const auto second = list.back()["response"]["id"];
  EXPECT_NE(first, second);
  EXPECT_EQ(respond({{"input", {{{"role", "user"}, {"content", "last"}}}}, {"previous_response_id", second},
                     {"instructions", "long"}}, key).status, 200);
  EXPECT_EQ(prompt_text(0), asked(cat(said("system", "brief"), said("user", "hi"))));
  // Instructions are of one response alone.
  const auto two = cat(said("user", "hi"), said("assistant", "hello"), said("user", "more"));
  EXPECT_EQ(prompt_text(1), asked(two));
  EXPECT_EQ(prompt_text(2), asked(cat(said("system", "long"), two, said("assistant", "hello"), said("user", "last"))));
}

TEST_F(ResponsesServerTest, ALaterTurnGoesOnFromTheSampledIds) {
  start();
  const auto key = open_attempt(1);
  const auto first = whole(ask_hi(), key)["id"];
  EXPECT_EQ(respond({{"input", "more"}, {"previous_response_id", first}}, key).status, 200);
  const auto calls = on_io([this] { return sink.calls; });
  ASSERT_EQ(calls.size(), 2U);
  auto expected = calls[0].prompt_ids.items();
  for (const auto& token : calls[0].tokens) expected.push_back(token.id);
  ASSERT_GT(calls[1].prompt_ids.size(), expected.size());
  const auto next = calls[1].prompt_ids.items();
  const auto begin = next.begin();
  EXPECT_EQ(std::vector<TokenId>(begin, begin + static_cast<std::ptrdiff_t>(expected.size())), expected);
  EXPECT_TRUE(calls[1].is_trainable);
  EXPECT_DOUBLE_EQ(metrics.counter("corisco_gateway_continued_calls_total", {"continued"}).value(), 1);
}

TEST_F(ResponsesServerTest, AnItemStandsForAnEarlierOne) {
  start();
  const auto key = open_attempt(1);
  const auto item = whole(ask_hi(), key)["output"][0]["id"];
  const json body = {{"input", {{{"role", "user"}, {"content", "hi"}}, {{"type", "item_reference"}, {"id", item}},
                                {{"role", "user"}, {"content", "more"}}}}};
  const auto second = whole(body, key);
  const auto two = cat(said("user", "hi"), said("assistant", "hello"), said("user", "more"));
  EXPECT_EQ(prompt_text(1), asked(two));
  // It was kept as what it stands for.
  EXPECT_EQ(respond({{"input", "last"}, {"previous_response_id", second["id"]}}, key).status, 200);
  EXPECT_EQ(prompt_text(2), asked(cat(two, said("assistant", "hello"), said("user", "last"))));
  auto unknown = body;
  unknown["input"][1]["id"] = "msg_0";
  const auto refused = respond(unknown, key);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(parse_json(refused.body)["error"]["param"], "input[1]");
}

TEST_F(ResponsesServerTest, WhatIsNotKeptIsUnknown) {
  start();
  const auto key = open_attempt(1), other = open_attempt(2);
  const auto unstored = whole(ask_hi({{"store", false}}), key)["id"];
  const auto unscoped = whole(ask_hi())["id"];
  const auto kept = whole(ask_hi(), key)["id"];
  const auto code = [&](const json& id, const std::string& with) {
    const auto reply = respond({{"input", "more"}, {"previous_response_id", id}, {"stream", true}}, with);
    EXPECT_NE(reply.body.find("Send the whole input"), std::string::npos);
    EXPECT_EQ(parse_json(reply.body)["error"]["param"], "previous_response_id");
    return cat(reply.status, " ", error_code(reply));
  };
  EXPECT_EQ(code("resp_0", key), "400 previous_response_not_found");
  EXPECT_EQ(code(unstored, key), "400 previous_response_not_found");
  EXPECT_EQ(code(unscoped, {}), "400 previous_response_not_found");   // nothing is kept outside a rollout
  EXPECT_EQ(code(kept, other), "400 previous_response_not_found");    // each rollout has its own
  EXPECT_EQ(code(kept, {}), "400 previous_response_not_found");
  EXPECT_EQ(respond({{"input", "more"}, {"previous_response_id", kept}}, key).status, 200);
}

// Large enough to be put together on the text thread.
TEST_F(ResponsesServerTest, ALongConversationGoesOnToo) {
  start();
  const auto key = open_attempt(1);
  const std::string text(20000, 'x');
  const auto first = whole({{"input", text}}, key)["id"];
  EXPECT_EQ(respond({{"input", "more"}, {"previous_response_id", first}}, key).status, 200);
  EXPECT_EQ(prompt_text(1), asked(cat(said("user", text), said("assistant", "hello"), said("user", "more"))));
}

// --- keys, errors, holds

TEST_F(ResponsesServerTest, KeysAndBothPaths) {
  config.gateway.unscoped = "refuse";
  start();
  const auto key = open_attempt(1);
  for (const auto* path : {"/v1/responses", "/rollout/1/attempt/1/v1/responses"}) {
    EXPECT_EQ(ask(post(path, json_text(ask_hi()), key)).status, 200) << path;
    EXPECT_EQ(ask(post(path, json_text(ask_hi()))).status, 401) << path;
  }
  EXPECT_EQ(ask(get("/v1/responses")).status, 405);
  EXPECT_EQ(ask(get("/v1/responses/resp_1")).status, 404);
}

TEST_F(ResponsesServerTest, APromptThatDoesNotFitSaysSoInTheWordsThatAgentsKnow) {
  start();
  generator.context = 20;
  const auto key = open_attempt(1);
  for (const bool is_stream : {false, true}) {
    const auto reply = respond(ask_hi({{"stream", is_stream}}), key);
    EXPECT_EQ(reply.status, 400);
    EXPECT_EQ(error_code(reply), "context_length_exceeded");
    EXPECT_NE(reply.body.find("maximum context length is 20 tokens"), std::string::npos) << reply.body;
  }
}

TEST_F(ResponsesServerTest, ErrorsAreShapedAndNameTheField) {
  start();
  const auto reply = respond(ask_hi({{"background", true}}));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(parse_json(reply.body)["error"]["param"], "background");
  on_io([this] { return generator.is_full = true; });
  EXPECT_EQ(respond(ask_hi({{"stream", true}})).status, 429);
}

TEST_F(ResponsesServerTest, AnErrorInsideAStreamIsItsLastEvent) {
  start();
  generator.is_manual = true;
  RawClient client(port);
  client.send(post("/v1/responses", json_text(ask_hi({{"stream", true}}))));
  ASSERT_TRUE(client.wait_for("response.in_progress"));
  on_io([this] {
    generator.give(RequestId{1}, {'a'}, {});
    generator.give(RequestId{1}, {}, {}, Error{Code::internal, "the device failed"});
    return 0;
  });
  const auto list = events_of(client.read_reply().body);
  EXPECT_EQ(list.back()["type"], "response.failed");
  const auto& failed = list.back()["response"];
  EXPECT_EQ(failed["id"], list[0]["response"]["id"]);
  EXPECT_EQ(failed["status"], "failed");
  EXPECT_EQ(failed["error"], json({{"code", "server_error"}, {"message", "the device failed"}}));
}

TEST_F(ResponsesServerTest, ALongHoldShowsSignsOfLife) {
  silent_hold = std::chrono::milliseconds(50);
  start();
  on_io([this] { gate.shut(); return 0; });
  RawClient streamed(port), unstreamed(port);
  streamed.send(post("/v1/responses", json_text(ask_hi({{"stream", true}}))));
  unstreamed.send(post("/v1/responses", json_text(ask_hi())));
  ASSERT_TRUE(streamed.wait_for("\"sequence_number\":3"));   // created, in_progress, and two more signs
  ASSERT_TRUE(unstreamed.wait_for("1\r\n \r\n"));
  on_io([this] { gate.open(); return 0; });
  auto list = events_of(streamed.read_reply().body);
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(list[i]["type"], "response.in_progress");
    EXPECT_EQ(list[i]["response"], list[1]["response"]);
  }
  // More may come on a busy machine.
  std::erase_if(list, [](const json& event) { return event["type"] == "response.in_progress"; });
  EXPECT_EQ(cat("created in_progress ", order_of(list).substr(8)), kTextOrder);
  EXPECT_EQ(list.back()["response"]["id"], list[0]["response"]["id"]);
  EXPECT_EQ(without_ids(parse_json(unstreamed.read_reply().body)["output"]), json::array({message_item("hello")}));
}

// Longer than what the io thread writes itself: its end and the response's are made elsewhere.
TEST_F(ResponsesServerTest, ALongReplysEventsRepeatAllOfIt) {
  config.sampling.max_tokens = 50000;
  start();
  generator.is_manual = true;
  RawClient client(port);
  client.send(post("/v1/responses", json_text(ask_hi({{"stream", true}}))));
  ASSERT_TRUE(eventually([this] { return generator.requests.size() == 1; }));
  const std::string text(40000, 'y');
  on_io([&] {
    std::vector<TokenId> ids(text.begin(), text.end());
    ids.push_back(kEnd);
    generator.give(RequestId{1}, std::move(ids), FinishReason::stop);
    return 0;
  });
  const auto list = events_of(client.read_reply().body);
  const auto output = output_of(list);   // which compares what each done repeats
  EXPECT_EQ(output[0]["content"][0]["text"], text);
  EXPECT_EQ(list.back()["type"], "response.completed");
  EXPECT_EQ(list.back()["response"]["output"][0]["content"][0]["text"], text);
}

TEST_F(ResponsesServerTest, AFailureAfterALongHoldIsToldInTheStream) {
  silent_hold = std::chrono::milliseconds(50);
  start();
  generator.context = 20;
  on_io([this] { gate.shut(); return 0; });
  RawClient client(port);
  client.send(post("/v1/responses", json_text(ask_hi({{"stream", true}}))));
  ASSERT_TRUE(client.wait_for("response.in_progress"));
  on_io([this] { gate.open(); return 0; });
  const auto list = events_of(client.read_reply().body);
  EXPECT_EQ(order_of(list), "created in_progress failed");
  EXPECT_EQ(list.back()["response"]["error"]["code"], "context_length_exceeded");
}
}  // namespace
}  // namespace corisco::gateway::fakes
