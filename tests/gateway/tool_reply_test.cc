// Replies with tool calls and reasoning on the wire: the same streamed or not, in both formats, and
// never another record.
#include "corisco/base/json.h"
#include "gateway/server_fixture.h"

namespace corisco::gateway::fakes {
namespace {
using nlohmann::json;

constexpr const char* kCall = "<tool_call>\n{\"name\": \"ls\", \"arguments\": {\"path\": \"a b\"}}\n</tool_call>";
constexpr const char* kArguments = "{\"path\": \"a b\"}";

struct ToolReplyTest : ServerTest {
  ToolReplyTest() {
    config.sampling.max_tokens = 512;
    reply_syntax = {.tool_parser = "hermes", .has_reasoning = true};
  }
  static json with_tools(json more = json::object()) {
    more["tools"] = {{{"type", "function"}, {"function", {{"name", "ls"}, {"parameters", json::object()}}}}};
    return hi(std::move(more));
  }
  json whole(const json& body) { return parse_json(chat(body).body)["choices"][0]; }
  // A stream's choice in the form of an unstreamed one.
  json streamed(json body) {
    body["stream"] = true;
    json message = {{"role", "assistant"}, {"content", ""}}, choice;
    for (const auto& chunk : events(chat(body).body)) {
      if (!chunk.is_object() || chunk["choices"].empty()) continue;
      const auto& part = chunk["choices"][0];
      if (!part["finish_reason"].is_null()) choice["finish_reason"] = part["finish_reason"];
      for (const char* name : {"content", "reasoning", "reasoning_content"})
        if (part["delta"].contains(name))
          message[name] = message.value(name, "") + part["delta"][name].get<std::string>();
      for (const auto& call : part["delta"].value("tool_calls", json::array())) {
        if (call.contains("id")) message["tool_calls"].push_back(call);
        else add_arguments(message["tool_calls"].at(call["index"].get<std::size_t>()), call);
      }
    }
    for (auto& call : message["tool_calls"]) call.erase("index");
    if (message["tool_calls"].is_null()) message.erase("tool_calls");
    else if (message["content"] == "") message["content"] = nullptr;
    choice["message"] = message;
    return choice;
  }
  // Ids differ from request to request.
  static json without_ids(json choice) {
    if (choice["message"].contains("tool_calls"))
      for (auto& call : choice["message"]["tool_calls"]) call.erase("id");
    return {{"message", choice["message"]}, {"finish_reason", choice["finish_reason"]}};
  }
  static void add_arguments(json& to, const json& call) {
    auto& arguments = to["function"]["arguments"];
    arguments = arguments.get<std::string>() + call["function"]["arguments"].get<std::string>();
  }
};

TEST_F(ToolReplyTest, CallsAreTheSameStreamedOrNot) {
  start();
  generator.reply = cat("<think>\nHm.\n</think>\n\nLet me look.\n", kCall, "\n", kCall);
  const auto choice = whole(with_tools());
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  const auto& message = choice["message"];
  EXPECT_EQ(message["content"], "\n\nLet me look.\n");   // blanks beside text are kept, as they were sampled
  EXPECT_EQ(message["reasoning_content"], message["reasoning"]);
  EXPECT_NE(message["reasoning"].get<std::string>().find("Hm."), std::string::npos);
  ASSERT_EQ(message["tool_calls"].size(), 2U);
  EXPECT_NE(message["tool_calls"][0]["id"], message["tool_calls"][1]["id"]);
  for (const auto& call : message["tool_calls"]) {
    EXPECT_EQ(call["id"].get<std::string>().substr(0, 5), "call_");
    EXPECT_EQ(call["type"], "function");
    EXPECT_EQ(call["function"], json({{"name", "ls"}, {"arguments", kArguments}}));
  }
  EXPECT_EQ(without_ids(streamed(with_tools())), without_ids(choice));
  const auto calls = on_io([this] { return sink.calls; });
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].reply_text, generator.reply);
  for (std::size_t i = 0; i < calls[0].tokens.size(); ++i) EXPECT_EQ(calls[0].tokens[i].id, calls[1].tokens.at(i).id);
}

TEST_F(ToolReplyTest, ACallOfAToolThatWasNotOfferedIsPassedOn) {
  start();
  generator.reply = "<tool_call>\n{\"name\": \"rm\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>";
  const auto choice = whole(with_tools());
  ASSERT_EQ(choice["message"]["tool_calls"].size(), 1U);
  EXPECT_EQ(choice["message"]["tool_calls"][0]["function"]["name"], "rm");
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  EXPECT_EQ(without_ids(streamed(with_tools())), without_ids(choice));
}

TEST_F(ToolReplyTest, ACallAloneHasNoContent) {
  start();
  generator.reply = kCall;
  const auto choice = whole(with_tools());
  EXPECT_TRUE(choice["message"]["content"].is_null());
  EXPECT_EQ(without_ids(streamed(with_tools())), without_ids(choice));
}

TEST_F(ToolReplyTest, WithoutToolsOrWithNoneWantedItIsText) {
  start();
  generator.reply = kCall;
  for (const auto& body : {hi(), with_tools({{"tool_choice", "none"}})}) {
    const auto choice = whole(body);
    EXPECT_EQ(choice["message"]["content"], kCall);
    EXPECT_EQ(choice["finish_reason"], "stop");
    EXPECT_EQ(without_ids(streamed(body)), without_ids(choice));
  }
}

TEST_F(ToolReplyTest, ACallThatIsCutOffShowsAsFarAsItCame) {
  start();
  generator.reply = kCall;
  const auto body = with_tools({{"max_tokens", 51}});
  const auto choice = whole(body);
  EXPECT_EQ(choice["finish_reason"], "length");
  const auto arguments = choice["message"]["tool_calls"][0]["function"]["arguments"].get<std::string>();
  EXPECT_EQ(std::string(kArguments).substr(0, arguments.size()), arguments);
  EXPECT_LT(arguments.size(), std::string(kArguments).size());
  EXPECT_EQ(without_ids(streamed(body)), without_ids(choice));
  EXPECT_EQ(on_io([this] { return sink.calls.at(0).parse_errors.size(); }), 1U);
}

TEST_F(ToolReplyTest, ACallThatNeverBeganIsText) {
  start();
  generator.reply = cat("<tool_call>\nls!\n</tool_call>", kCall);
  const auto choice = whole(with_tools());
  EXPECT_EQ(choice["message"]["content"].get<std::string>().substr(0, 15), "<tool_call>\nls!");
  EXPECT_EQ(choice["message"]["tool_calls"].size(), 1U);
  EXPECT_EQ(without_ids(streamed(with_tools())), without_ids(choice));
  EXPECT_EQ(on_io([this] { return sink.calls.at(0).parse_errors.size(); }), 1U);
}

TEST_F(ToolReplyTest, MistralsIdsAreShort) {
  reply_syntax = {.tool_parser = "mistral"};
  start();
  generator.reply = "[TOOL_CALLS]ls[ARGS]{\"path\": \"a b\"}";
  EXPECT_EQ(whole(with_tools())["message"]["tool_calls"][0]["id"].get<std::string>().size(), 9U);
}

struct AnthropicToolReplyTest : ToolReplyTest {
  json ask_message(bool is_stream, const json& more = json::object()) {
    json body = {{"max_tokens", 400},
                 {"messages", {{{"role", "user"}, {"content", "hi"}}}},
                 {"tools", {{{"name", "ls"}, {"input_schema", {{"type", "object"}}}}}}};
    body["stream"] = is_stream;
    body.update(more);
    const auto reply = ask(post("/v1/messages", json_text(body)));
    return is_stream ? folded(reply.body) : parse_json(reply.body);
  }
  // A stream's message as a client of Anthropic's puts it together.
  static json folded(const std::string& stream) {
    json message;
    std::string input;
    for (std::size_t at = 0, end = 0; (end = stream.find("\n\n", at)) != std::string::npos; at = end + 2) {
      const auto line = stream.find("\ndata: ", at);
      const auto event = parse_json(stream.substr(line + 7, end - line - 7));
      const auto type = event["type"].get<std::string>();
      if (type == "message_start") message = event["message"];
      if (type == "content_block_start") {
        EXPECT_EQ(event["index"], message["content"].size());
        message["content"].push_back(event["content_block"]);
        input.clear();
      }
      if (type == "content_block_delta") {
        auto& block = message["content"].back();
        for (const auto& [name, value] : event["delta"].items()) {
          if (name == "partial_json") input += value.get<std::string>();
          else if (name != "type") block[name] = block.value(name, "") + value.get<std::string>();
        }
      }
      if (type == "content_block_stop" && message["content"].back()["type"] == "tool_use")
        message["content"].back()["input"] = parse_json(input);
      if (type == "message_delta") message.update(event["delta"]);
      if (type == "message_delta") message["usage"] = event["usage"];
    }
    return message;
  }
  static json without_ids(json message) {
    message.erase("id");
    for (auto& block : message["content"]) block.erase("id");
    return message;
  }
};

TEST_F(AnthropicToolReplyTest, BlocksAreTheSameStreamedOrNot) {
  start();
  generator.reply = cat("<think>\nHm.\n</think>\n\nLet me look.\n", kCall);
  const auto message = ask_message(false);
  EXPECT_EQ(message["stop_reason"], "tool_use");
  ASSERT_EQ(message["content"].size(), 3U);
  EXPECT_EQ(message["content"][0]["type"], "thinking");
  EXPECT_EQ(message["content"][1], json({{"type", "text"}, {"text", "\n\nLet me look.\n"}}));
  EXPECT_EQ(message["content"][2]["type"], "tool_use");
  EXPECT_EQ(message["content"][2]["name"], "ls");
  EXPECT_EQ(message["content"][2]["input"], json({{"path", "a b"}}));
  EXPECT_EQ(without_ids(ask_message(true)), without_ids(message));
}

TEST_F(AnthropicToolReplyTest, ACallThatIsCutOffIsItsText) {
  start();
  generator.reply = kCall;
  const auto message = ask_message(false, {{"max_tokens", 51}});
  EXPECT_EQ(message["stop_reason"], "max_tokens");
  EXPECT_EQ(message["content"], json::array({{{"type", "text"}, {"text", std::string(kCall).substr(0, 51)}}}));
}

TEST_F(AnthropicToolReplyTest, WithNoneWantedItIsText) {
  start();
  generator.reply = kCall;
  const auto message = ask_message(false, {{"tool_choice", {{"type", "none"}}}});
  EXPECT_EQ(message["content"], json::array({{{"type", "text"}, {"text", kCall}}}));
  EXPECT_EQ(message["stop_reason"], "end_turn");
}
}  // namespace

TEST(ReplySyntax, AutoGoesByTheTemplate) {
  config::Gateway options;
  EXPECT_EQ(reply_syntax_of(options, "... <tool_call> ... </think>", "").tool_parser, "hermes");
  EXPECT_TRUE(reply_syntax_of(options, "... <tool_call> ... </think>", "").has_reasoning);
  EXPECT_EQ(reply_syntax_of(options, "plain", "").tool_parser, "");
  EXPECT_FALSE(reply_syntax_of(options, "plain", "").has_reasoning);
  EXPECT_EQ(reply_syntax_of(options, "plain", "mistral").tool_parser, "mistral");
  const auto harmony = reply_syntax_of(options, "<|start|>assistant<|channel|>final<|message|>", "gpt_oss");
  EXPECT_EQ(harmony.tool_parser, "openai");
  EXPECT_TRUE(harmony.has_reasoning && harmony.has_channels());
  const auto gemma = reply_syntax_of(options, "<|channel>thought <channel|> <|tool_call>call:", "gemma4");
  EXPECT_EQ(gemma.tool_parser, "gemma");
  EXPECT_EQ(gemma.reasoning_parser, "gemma");
  EXPECT_TRUE(gemma.has_reasoning && !gemma.has_channels());
  EXPECT_FALSE(reply_syntax_of(options, "<start_function_call>call:", "gemma3_text").has_reasoning);
  options.tool_parser = "none";
  options.reasoning_parser = "none";
  EXPECT_EQ(reply_syntax_of(options, "<tool_call></think>", "").tool_parser, "");
  EXPECT_FALSE(reply_syntax_of(options, "<tool_call></think>", "").has_reasoning);
  options.reasoning_parser = "openai";
  EXPECT_TRUE(reply_syntax_of(options, "plain", "").has_channels());
  EXPECT_EQ(reply_syntax_of(options, "plain", "").tool_parser, "");   // calls stay text
  options.tool_parser = "auto";
  EXPECT_EQ(reply_syntax_of(options, "plain", "").tool_parser, "openai");
  options.tool_parser = "openai";
  options.reasoning_parser = "none";
  EXPECT_TRUE(reply_syntax_of(options, "plain", "").has_channels());
  EXPECT_FALSE(reply_syntax_of(options, "plain", "").has_reasoning);
  options.tool_parser = "pythonic";
  options.reasoning_parser = "think";
  EXPECT_EQ(reply_syntax_of(options, "plain", "").tool_parser, "pythonic");
  EXPECT_TRUE(reply_syntax_of(options, "plain", "").has_reasoning);
}
}  // namespace corisco::gateway::fakes
