// Tool loops through the server, in each wire format: the second request goes on with the exact ids though
// the first reply came back in another form.
#include "gateway/agent_templates.h"
#include "gateway/server_fixture.h"

namespace corisco::gateway::fakes {
namespace {
using json = nlohmann::ordered_json;
constexpr const char* kCall =
    "<tool_call>\n{\"name\": \"ls\", \"arguments\": {\"path\" :  \"a\\/b\", \"deep\":1.0}}\n</tool_call>";

struct ContinuedCallTest : ServerTest {
  ContinuedCallTest() {
    chat_template = agent_template;
    reply_syntax = {"hermes", true};
    config.sampling.max_tokens = 400;
    generator.reply = kCall;
  }
  json post_json(const std::string& path, const json& body) {
    const auto reply = ask(post(path, json_text(body), key));
    EXPECT_EQ(reply.status, 200) << reply.body;
    return parse_ordered_json(reply.body);
  }
  json chat_tools(const json& messages) {
    const json tools = {{{"type", "function"}, {"function", {{"name", "ls"}, {"parameters", json::object()}}}}};
    return post_json("/v1/chat/completions", {{"messages", messages}, {"tools", tools}});
  }
  std::vector<Call> calls() {
    return on_io([this] { return sink.calls; });
  }
  static bool goes_on(const Call& call, const Call& from) {
    auto sampled = from.prompt_ids.items();
    for (const auto& token : from.tokens) sampled.push_back(token.id);
    return call.prompt_ids.size() > sampled.size() && call.prompt_ids.common_with(sampled) == sampled.size();
  }
  void expect_that_it_went_on(const char* difference) {
    const auto all = calls();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_TRUE(goes_on(all[1], all[0]));
    EXPECT_EQ(all[0].split, SplitCause::first);
    EXPECT_EQ(all[1].split, SplitCause::none);
    EXPECT_EQ(all[1].base, all[0].id);
    EXPECT_EQ(all[1].base_tokens, all[0].prompt_ids.size() + all[0].tokens.size());
    EXPECT_GT(all[1].base_request_bytes, 10U);
    EXPECT_EQ(all[1].prompt_ids.num_own(), all[1].prompt_ids.size() - all[1].base_tokens);
    EXPECT_DOUBLE_EQ(metrics.counter("corisco_gateway_reply_differences_total", {difference}).value(), 1);
  }

  std::shared_ptr<AgentTemplate> agent_template = std::make_shared<AgentTemplate>();
  std::string key;
};

TEST_F(ContinuedCallTest, ChatGoesOnFromReserialisedArguments) {
  start();
  key = open_attempt(1);
  json messages = {{{"role", "user"}, {"content", "list"}}};
  auto turn = chat_tools(messages)["choices"][0]["message"];
  EXPECT_EQ(turn["tool_calls"][0]["id"].get<std::string>().size(), 37U);
  turn["tool_calls"][0]["function"]["arguments"] = R"({"path":"a/b","deep":1})";
  messages.push_back(turn);
  messages.push_back({{"role", "tool"}, {"tool_call_id", turn["tool_calls"][0]["id"]}, {"content", "x.txt"}});
  chat_tools(messages);
  expect_that_it_went_on("arguments");
}

// One life of a daemon, in which the attempt asks for one call.
struct Life final : ContinuedCallTest {
  void TestBody() override {}
  std::string issued_id(const std::string& secret, std::uint32_t attempt, const char* question = "list") {
    call_id_secret = secret;
    start();
    key = on_io([&] { return attempts.open({{RolloutId{1}, attempt}, Mode::train, 5, 0, 0, 1, 1.7e9}); });
    const auto turn = chat_tools({{{"role", "user"}, {"content", question}}})["choices"][0]["message"];
    TearDown();
    return turn["tool_calls"][0]["id"];
  }
};

// Templates may print the ids into prompts: a run that goes on must ask the same of the model.
TEST(IssuedCallIds, AreThoseOfTheRunWhateverProcessMakesTheCall) {
  const auto id = Life().issued_id("of this run", 1);
  EXPECT_EQ(Life().issued_id("of this run", 2), id);
  EXPECT_NE(Life().issued_id("of this run", 1, "list all"), id);
  EXPECT_NE(Life().issued_id("of another", 1), id);
  EXPECT_NE(Life().issued_id({}, 1), Life().issued_id({}, 1)) << "a secret of each process";
}

TEST_F(ContinuedCallTest, MessagesGoOnFromParsedInput) {
  start();
  key = open_attempt(1);
  const json tools = {{{"name", "ls"}, {"input_schema", {{"type", "object"}}}}};
  json messages = {{{"role", "user"}, {"content", "list"}}};
  const auto first = post_json("/v1/messages", {{"max_tokens", 400}, {"messages", messages}, {"tools", tools}});
  ASSERT_EQ(first["content"][0]["type"], "tool_use") << first;
  messages.push_back({{"role", "assistant"}, {"content", first["content"]}});
  messages.back()["content"][0]["input"] = {{"path", "a/b"}, {"deep", 1}};
  const json result = {{"type", "tool_result"}, {"tool_use_id", first["content"][0]["id"]}, {"content", "x.txt"}};
  messages.push_back({{"role", "user"}, {"content", json::array({result})}});
  post_json("/v1/messages", {{"max_tokens", 400}, {"messages", messages}, {"tools", tools}});
  expect_that_it_went_on("arguments");
}

TEST_F(ContinuedCallTest, ResponsesGoOnFromReserialisedArguments) {
  start();
  key = open_attempt(1);
  const json tools = {{{"type", "function"}, {"name", "ls"}, {"parameters", {{"type", "object"}}}}};
  json input = {{{"role", "user"}, {"content", "list"}}};
  const auto first = post_json("/v1/responses", {{"input", input}, {"tools", tools}});
  auto call = first["output"][0];
  ASSERT_EQ(call["type"], "function_call") << first;
  call["arguments"] = R"({"path":"a/b","deep":1})";
  input.push_back(call);
  input.push_back({{"type", "function_call_output"}, {"call_id", call["call_id"]}, {"output", "x.txt"}});
  post_json("/v1/responses", {{"input", input}, {"tools", tools}});
  expect_that_it_went_on("arguments");
}

// A custom tool takes a text; what else the model wrote into its arguments cannot come back.
TEST_F(ContinuedCallTest, ResponsesGoOnFromACustomToolsInput) {
  generator.reply =
      "<tool_call>\n{\"name\": \"patch\", \"arguments\": {\"input\": \"*** x\", \"why\": \"so\"}}\n</tool_call>";
  start();
  key = open_attempt(1);
  const json tools = {{{"type", "custom"}, {"name", "patch"}}};
  json input = {{{"role", "user"}, {"content", "patch"}}};
  const auto first = post_json("/v1/responses", {{"input", input}, {"tools", tools}});
  const auto call = first["output"][0];
  ASSERT_EQ(call["type"], "custom_tool_call") << first;
  EXPECT_EQ(call["input"], "*** x");
  input.push_back(call);
  input.push_back({{"type", "custom_tool_call_output"}, {"call_id", call["call_id"]}, {"output", "ok"}});
  post_json("/v1/responses", {{"input", input}, {"tools", tools}});
  expect_that_it_went_on("arguments");
}

// Agents do not leave arguments alone that are no JSON: they repair them, or rename the call.
TEST_F(ContinuedCallTest, ACallThatWasBrokenMayComeBackAnyhow) {
  generator.reply = "Look.<tool_call>\n{\"name\": \"ls\", \"arguments\": {\"path\": a b}}\n</tool_call>";
  agent_template->refuses_tool_results_alone = false;
  start();
  key = open_attempt(1);
  json messages = {{{"role", "user"}, {"content", "list"}}};
  auto turn = chat_tools(messages)["choices"][0]["message"];
  ASSERT_EQ(turn["tool_calls"].size(), 1U) << turn;
  turn["tool_calls"][0]["function"] = {{"name", "invalid"}, {"arguments", R"({"tool":"ls","error":"no JSON"})"}};
  messages.push_back(turn);
  messages.push_back({{"role", "tool"}, {"tool_call_id", turn["tool_calls"][0]["id"]}, {"content", "no JSON"}});
  chat_tools(messages);
  expect_that_it_went_on("arguments");
  EXPECT_EQ(parse_json(calls()[1].request_json.items())[1]["tool_calls"][0]["function"]["name"], "invalid");
}

// What was restored must be of use: the template's error with it is not the client's.
TEST_F(ContinuedCallTest, ARestoredCallThatATemplateRefusesIsAsItWasSent) {
  generator.reply = "Look.<tool_call>\n{\"name\": \"ls\", \"arguments\": {\"path\": a b}}\n</tool_call>";
  agent_template->refuses_tool_results_alone = true;
  start();
  key = open_attempt(1);
  json messages = {{{"role", "user"}, {"content", "list"}}};
  auto turn = chat_tools(messages)["choices"][0]["message"];
  turn["tool_calls"][0]["function"] = {{"name", "invalid"}, {"arguments", "{}"}};
  messages.push_back(turn);
  messages.push_back({{"role", "tool"}, {"tool_call_id", turn["tool_calls"][0]["id"]}, {"content", "no JSON"}});
  chat_tools(messages);
  const auto all = calls();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_FALSE(goes_on(all[1], all[0]));
  EXPECT_EQ(all[1].split, SplitCause::reply_changed);
  EXPECT_DOUBLE_EQ(metrics.counter("corisco_gateway_split_calls_total", {"reply_changed"}).value(), 1);
}

TEST_F(ContinuedCallTest, ValidArgumentsOfAnotherValueAreAnotherReply) {
  start();
  key = open_attempt(1);
  json messages = {{{"role", "user"}, {"content", "list"}}};
  auto turn = chat_tools(messages)["choices"][0]["message"];
  turn["tool_calls"][0]["function"]["arguments"] = R"({"path":"a/c","deep":1})";
  messages.push_back(turn);
  messages.push_back({{"role", "tool"}, {"tool_call_id", turn["tool_calls"][0]["id"]}, {"content", "x.txt"}});
  chat_tools(messages);
  const auto all = calls();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].split, SplitCause::reply_changed);
  EXPECT_GT(all[1].base_tokens, all[0].prompt_ids.size());   // its beginning is stored once all the same
}

// The client sent the calls back as they were; the template has no place for them.
TEST_F(ContinuedCallTest, CallsThatTheTemplateLeavesOutAreTheTemplatesDoing) {
  agent_template->shows_calls = false;
  start();
  key = open_attempt(1);
  json messages = {{{"role", "user"}, {"content", "list"}}};
  for (int i = 0; i < 3; ++i) {
    auto turn = chat_tools(messages)["choices"][0]["message"];
    turn["tool_calls"][0]["function"]["arguments"] = R"({"path":"a/b","deep":1})";
    messages.push_back(turn);
    messages.push_back({{"role", "tool"}, {"tool_call_id", turn["tool_calls"][0]["id"]}, {"content", "x.txt"}});
  }
  auto all = calls();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].split, SplitCause::template_changed);
  EXPECT_EQ(all[2].split, SplitCause::template_changed);
  for (const int changed : {1, 3}) messages[changed]["tool_calls"][0]["function"]["arguments"] = R"({"path":"other"})";
  chat_tools(messages);
  EXPECT_EQ(calls()[3].split, SplitCause::template_changed) << "the third reply is there, as it was";
  messages[5]["tool_calls"][0]["function"]["arguments"] = R"({"path":"other"})";
  messages.push_back({{"role", "user"}, {"content", "go on"}});   // another prompt than the call before had
  chat_tools(messages);
  EXPECT_EQ(calls()[4].split, SplitCause::reply_changed);
}

TEST_F(ContinuedCallTest, ReasoningThatWasDroppedIsKeptIfTheConfigSaysSo) {
  config.gateway.keep_reasoning = true;
  generator.reply = "<think>\nHm\n</think>\n\nYes.";
  start();
  key = open_attempt(1);
  json messages = {{{"role", "user"}, {"content", "so?"}}};
  chat_tools(messages);
  messages.push_back({{"role", "assistant"}, {"content", "Yes."}});
  messages.push_back({{"role", "user"}, {"content", "sure?"}});
  chat_tools(messages);
  const auto all = calls();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_TRUE(goes_on(all[1], all[0]));
}

TEST_F(ContinuedCallTest, ReasoningThatWasDroppedSplits) {
  generator.reply = "<think>\nHm\n</think>\n\nYes.";
  start();
  key = open_attempt(1);
  json messages = {{{"role", "user"}, {"content", "so?"}}};
  chat_tools(messages);
  messages.push_back({{"role", "assistant"}, {"content", "Yes."}});
  messages.push_back({{"role", "user"}, {"content", "sure?"}});
  chat_tools(messages);
  EXPECT_EQ(calls().at(1).split, SplitCause::reasoning_dropped);
}

TEST_F(ContinuedCallTest, SeveralChoicesShareTheirPrompt) {
  generator.reply = "Yes.";
  start();
  key = open_attempt(1);
  json messages = {{{"role", "user"}, {"content", "so?"}}};
  post_json("/v1/chat/completions", {{"messages", messages}, {"n", 3}});
  const auto all = calls();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_FALSE(all[0].base);
  for (const std::size_t i : {1U, 2U}) {
    EXPECT_TRUE(all[i].base);
    EXPECT_EQ(all[i].base_tokens, all[i].prompt_ids.size());
    EXPECT_EQ(all[i].base_request_bytes, all[i].request_json.size());
    EXPECT_EQ(all[i].split, SplitCause::first);
  }
}
}  // namespace
}  // namespace corisco::gateway::fakes
