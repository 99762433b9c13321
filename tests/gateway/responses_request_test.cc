// Responses requests: how their items become native messages and their tools functions, what is
// ignored, what is refused and by which name; and what a rollout remembers of its responses.
#include <gtest/gtest.h>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "gateway/openai_responses.h"
#include "gateway/reasoning_seal.h"

namespace corisco::gateway {
namespace {
constexpr const char* kHi = R"({"role":"user","content":"hi"})";
std::string with(const std::string& more) {
  return cat(R"({"model":"m","input":"hi")", more.empty() ? "" : ",", more, "}");
}
std::string of_input(const std::string& items, const std::string& more = {}) {
  return cat("{\"input\":[", items, "]", more.empty() ? "" : ",", more, "}");
}
ChatRequest accepted(const std::string& body) {
  auto parsed = parse_openai_responses(body, {});
  const auto* error = std::get_if<ApiError>(&parsed);
  EXPECT_EQ(error, nullptr) << (error ? error->message : "") << body;
  return error ? ChatRequest{} : std::get<ChatRequest>(parsed);
}
// Messages of the items, without the brackets.
std::string native(const std::string& items, const std::string& more = {}) {
  const auto messages = accepted(of_input(items, more)).messages_json;
  return messages.size() < 2 ? messages : messages.substr(1, messages.size() - 2);
}
// The field that the refusal names.
std::string refused(const std::string& body) {
  auto parsed = parse_openai_responses(body, {});
  const auto* error = std::get_if<ApiError>(&parsed);
  if (error == nullptr) return "accepted";
  if (error->status != 400) return "wrong status";
  return error->param.empty() ? error->code : error->param;
}
std::string code_of(const std::string& body) {
  auto parsed = parse_openai_responses(body, {});
  const auto* error = std::get_if<ApiError>(&parsed);
  return error == nullptr ? "accepted" : error->code;
}
std::string tools_of(const std::string& tools) { return accepted(with(cat("\"tools\":[", tools, "]"))).tools_json; }

TEST(ResponsesRequest, ReadsItsFields) {
  const auto request = accepted(with(
      R"("instructions":"be brief","stream":true,"max_output_tokens":9,"temperature":0.5,"top_p":0.9,"top_k":7,)"
      R"("chat_template_kwargs":{"k":1},"metadata":{"a":"b"},"reasoning":{"effort":"low","summary":"auto"},)"
      R"("parallel_tool_calls":false,"store":false,"tool_choice":"none","include":["reasoning.encrypted_content"])"));
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(request.messages_json, cat(R"([{"role":"system","content":"be brief"},)", kHi, "]"));
  EXPECT_EQ(request.sent_messages_json,
            R"([{"role":"system","content":"be brief"},{"type":"message","role":"user","content":"hi"}])");
  EXPECT_TRUE(request.is_stream);
  EXPECT_EQ(request.max_tokens, 9U);
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_EQ(request.sampling.top_p, 0.9);
  EXPECT_EQ(request.sampling.top_k, 7U);
  EXPECT_EQ(request.template_kwargs_json, R"({"k":1})");
  EXPECT_FALSE(request.reads_tool_calls);
  EXPECT_EQ(request.num_choices, 1U);
  const auto& turn = *request.responses;
  EXPECT_FALSE(turn.is_stored);
  EXPECT_TRUE(turn.seals_reasoning);
  EXPECT_TRUE(turn.input.empty());       // nobody will ask for it
  EXPECT_EQ(turn.repeated["metadata"], Json({{"a", "b"}}));
  EXPECT_EQ(turn.repeated["reasoning"]["effort"], "low");
  EXPECT_EQ(turn.repeated["parallel_tool_calls"], false);
  EXPECT_EQ(turn.repeated["tool_choice"], "none");
}

TEST(ResponsesRequest, WhatAgentsSendBesideIsIgnored) {
  accepted(with(
      R"("client_metadata":{"x":1},"prompt_cache_key":"k","service_tier":"auto","truncation":"auto","user":"u",)"
      R"("safety_identifier":"s","max_tool_calls":3,"stream_options":{"include_obfuscation":false},"background":false,)"
      R"("conversation":null,"prompt":null,"text":{"format":{"type":"text"},"verbosity":"low"},"top_logprobs":0,)"
      R"("include":["web_search_call.action.sources"],"tool_choice":"auto","whatever":[1])"));
  EXPECT_TRUE(accepted(with("")).responses->is_stored);
  EXPECT_TRUE(accepted(with("")).reads_tool_calls);
}

TEST(ResponsesRequest, LogprobsAreShownIfIncluded) {
  const auto shown = accepted(with(R"("include":["message.output_text.logprobs"],"top_logprobs":3,"min_p":0.25)"));
  EXPECT_TRUE(shown.returns_logprobs);
  EXPECT_EQ(shown.top_logprobs, 3U);
  EXPECT_EQ(shown.sampling.min_p, 0.25);
  const auto hidden = accepted(with(R"("top_logprobs":3)"));
  EXPECT_FALSE(hidden.returns_logprobs);
  EXPECT_EQ(hidden.top_logprobs, 0U);    // nobody would see them
  EXPECT_EQ(hidden.responses->repeated["top_logprobs"], 3);
}

TEST(ResponsesRequest, MessagesInEachOfTheirForms) {
  EXPECT_EQ(native(R"({"role":"user","content":"hi"})"), kHi);
  EXPECT_EQ(native(R"({"type":"message","role":"user","content":[{"type":"input_text","text":"a"},)"
                   R"({"type":"text","text":"b"}],"id":null,"status":null})"),
            R"({"role":"user","content":"a\nb"})");
  EXPECT_EQ(native(R"({"role":"developer","content":"d"},{"role":"user","content":"hi"},)"
                   R"({"role":"system","content":"s"})"),
            cat(R"({"role":"system","content":"d"},)", kHi, R"(,{"role":"system","content":"s"})"));
  EXPECT_EQ(native(R"({"role":"user","content":"hi"},{"role":"assistant","content":[)"
                   R"({"type":"output_text","text":"yo","annotations":[],"logprobs":null}]},)"
                   R"({"role":"user","content":null})"),
            cat(kHi, R"(,{"role":"assistant","content":"yo"},{"role":"user","content":""})"));
  EXPECT_EQ(native(R"({"role":"assistant","content":[{"type":"refusal","refusal":"no"}]})"),
            R"({"role":"assistant","content":"no"})");
}

// The same message as a chat completion of the turn: content, reasoning and parallel calls in one.
TEST(ResponsesRequest, WhatOneReplyMadeIsOneMessageAgain) {
  const auto* turn =
      R"({"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"Hm."}]},)"
      R"({"type":"message","id":"msg_1","role":"assistant","status":"completed",)"
      R"("content":[{"type":"output_text","text":"on it"}]},)"
      R"({"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{\"a\" : 1}",)"
      R"("status":"completed"},)"
      R"({"type":"function_call","call_id":"c2","name":"g","arguments":"",)"
      R"("async_":null,"caller":null,"namespace":null},)"
      R"({"type":"function_call_output","call_id":"c1","output":"one"},)"
      R"({"type":"function_call_output","call_id":"c2","output":[)"
      R"({"type":"input_text","text":"two"},{"type":"output_text","text":"2"}]})";
  EXPECT_EQ(native(cat(kHi, ",", turn)),
            cat(kHi, R"(,{"role":"assistant","content":"on it","reasoning_content":"Hm.","tool_calls":[)"
                     R"({"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\" : 1}"}},)"
                     R"({"id":"c2","type":"function","function":{"name":"g","arguments":"{}"}}]},)"
                     R"({"role":"tool","content":"one","tool_call_id":"c1"},)"
                     R"({"role":"tool","content":"two\n2","tool_call_id":"c2"})"));
}

std::string call(const std::string& id, const std::string& call_id) {
  return cat(R"({"type":"function_call","id":")", id, R"(","call_id":")", call_id, R"(","name":"f","arguments":"{}"})");
}
std::string output(const std::string& call_id) {
  return cat(R"({"type":"function_call_output","call_id":")", call_id, R"(","output":"o"})");
}
// Roles of the native messages, with the number of calls.
std::string shape(const std::string& items) {
  std::string shape;
  for (const auto& message : parse_json(cat("[", native(items), "]"))) {
    shape += message["role"].get<std::string>()[0];
    if (message.contains("tool_calls")) shape += std::to_string(message["tool_calls"].size());
  }
  return shape;
}

TEST(ResponsesRequest, IdsTellRepliesApart) {
  const std::string one = "fc_0123456789abcdef_0", two = "fc_0123456789abcdef_1", other = "fc_fedcba9876543210_0";
  EXPECT_EQ(shape(cat(call(one, "a"), ",", call(two, "b"), ",", output("a"), ",", output("b"))), "a2tt");
  EXPECT_EQ(shape(cat(call(one, "a"), ",", output("a"), ",", call(two, "b"), ",", output("b"))), "a2tt");
  EXPECT_EQ(shape(cat(call(one, "a"), ",", output("a"), ",", call(other, "b"), ",", output("b"))), "a1ta1t");
  EXPECT_EQ(shape(cat(call(one, "a"), ",", call(other, "b"))), "a1a1");
  // Foreign ids say nothing: neighbours are of one reply, and an output ends it.
  EXPECT_EQ(shape(cat(call("x_1", "a"), ",", call("x_2", "b"))), "a2");
  EXPECT_EQ(shape(cat(call("x_1", "a"), ",", output("a"), ",", call("x_1", "b"))), "a1ta1");
  EXPECT_EQ(shape(cat(call("", "a"), ",", kHi, ",", call("", "b"))), "a1ua1");
}

TEST(ResponsesRequest, ReasoningWithNothingAfterItStays) {
  const auto* thought = R"({"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"Hm."}]})";
  EXPECT_EQ(native(cat(thought, ",", kHi)),
            cat(R"({"role":"assistant","content":"","reasoning_content":"Hm."},)", kHi));
  // A second thought after words is another reply's.
  EXPECT_EQ(shape(cat(R"({"role":"assistant","content":"yo"},)", thought)), "aa");
  EXPECT_EQ(native(R"({"type":"reasoning","summary":[{"type":"summary_text","text":"S."}]})"),
            R"({"role":"assistant","content":"","reasoning_content":"S."})");
  EXPECT_EQ(native(R"({"type":"reasoning","summary":[],"content":null,"encrypted_content":"gAAAA-of-another"})"),
            R"({"role":"assistant","content":""})");
}

TEST(ResponsesRequest, SealedReasoningComesBackAsItWas) {
  const std::vector<std::string> texts = {"a", "ab", "abc", "h\xc3\xa9llo\n\n", std::string("one\0two", 7)};
  for (const auto& text : texts) {
    const auto sealed = sealed_reasoning(text);
    EXPECT_EQ(sealed.find(text), std::string::npos) << "readable";
    const auto message = parse_json(native(cat(R"({"type":"reasoning","encrypted_content":")", sealed, "\"}")));
    EXPECT_EQ(message["reasoning_content"], text);
  }
  EXPECT_EQ(sealed_reasoning("abcd"), "corisco1.YWJjZA==");   // RFC 4648
  for (const auto* broken : {"corisco1.", "corisco1.=", "corisco1.====", "corisco1.ab", "corisco1.a!cd"})
    EXPECT_EQ(shape(cat(R"({"type":"reasoning","encrypted_content":")", broken, "\"}")), "a") << broken;
}

TEST(ResponsesRequest, CallsOfOtherFormsAreCallsOfFunctions) {
  const auto of = [](const std::string& item) { return native(item); };
  const auto message = [](const std::string& name, const std::string& arguments) {
    const Json text = arguments;
    return cat(R"({"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function",)",
               R"("function":{"name":")", name, R"(","arguments":)", json_text(text), "}}]}");
  };
  EXPECT_EQ(of(R"({"type":"custom_tool_call","call_id":"c","name":"apply_patch","input":"*** \"x\"\n"})"),
            message("apply_patch", R"({"input":"*** \"x\"\n"})"));
  EXPECT_EQ(of(R"({"type":"local_shell_call","id":"c","status":"completed",)"
               R"("action":{"type":"exec","command":["ls","-l"],"env":{},"timeout_ms":null,"working_directory":"/"}})"),
            message("local_shell", R"({"command":["ls","-l"],"working_directory":"/"})"));
  EXPECT_EQ(of(R"({"type":"shell_call","call_id":"c","action":{"commands":["ls"],"timeout_ms":5}})"),
            message("shell", R"({"commands":["ls"],"timeout_ms":5})"));
  EXPECT_EQ(of(R"({"type":"apply_patch_call","call_id":"c","operation":{"type":"delete_file","path":"a"}})"),
            message("apply_patch", R"({"type":"delete_file","path":"a"})"));
  EXPECT_EQ(of(R"({"type":"custom_tool_call_output","call_id":"c","output":"ok"})"),
            R"({"role":"tool","content":"ok","tool_call_id":"c"})");
  EXPECT_EQ(of(R"({"type":"local_shell_call_output","id":"c","output":"ok"})"),
            R"({"role":"tool","content":"ok","tool_call_id":"c"})");
  EXPECT_EQ(of(R"({"type":"apply_patch_call_output","call_id":"c","status":"failed"})"),
            R"({"role":"tool","content":"failed","tool_call_id":"c"})");
  EXPECT_EQ(of(R"({"type":"shell_call_output","call_id":"c","output":[{"stdout":"x"}]})"),
            R"({"role":"tool","content":"[{\"stdout\":\"x\"}]","tool_call_id":"c"})");
}

TEST(ResponsesRequest, ToolsBecomeFunctions) {
  EXPECT_EQ(tools_of(R"({"type":"function","name":"f","description":"d","strict":true,)"
                     R"("parameters":{"type":"object","z":1,"a":2}},)"
                     R"({"type":"function","name":"g","parameters":null,"defer_loading":true})"),
            R"([{"type":"function","function":{"name":"f","description":"d",)"
            R"("parameters":{"type":"object","z":1,"a":2}}},)"
            R"({"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{}}}}])");
  EXPECT_EQ(tools_of(R"({"type":"custom","name":"p","description":"d","format":{"type":"text"}})"),
            R"([{"type":"function","function":{"name":"p","description":"d","parameters":{"type":"object",)"
            R"("properties":{"input":{"type":"string"}},"required":["input"]}}}])");
  EXPECT_NE(tools_of(R"({"type":"custom","name":"p",)"
                     R"("format":{"type":"grammar","syntax":"lark","definition":"start: A"}})")
                .find("lark grammar:\\nstart: A"), std::string::npos);
  EXPECT_EQ(tools_of(R"({"type":"function","function":{"name":"f"}})"), tools_of(R"({"type":"function","name":"f"})"));
  EXPECT_EQ(tools_of(""), "");
  for (const auto* hosted : {"web_search", "web_search_preview_2025_03_11", "file_search", "code_interpreter",
                             "computer_use_preview", "image_generation", "mcp", "tool_search"})
    EXPECT_EQ(tools_of(cat(R"({"type":")", hosted, "\"}")), "") << hosted;
  EXPECT_EQ(tools_of(R"({"type":"shell","environment":{"type":"container_auto"}})"), "");
  for (const auto* known : {"local_shell", "shell", "apply_patch"})
    EXPECT_NE(tools_of(cat(R"({"type":")", known, "\"}")).find(cat("\"name\":\"", known, "\"")), std::string::npos);
  EXPECT_EQ(refused(with(R"("tools":[{"type":"sesame","name":"f"}])")), "tools[0]");
  EXPECT_EQ(refused(with(R"("tools":[{"type":"function","name":"f"},{"type":"function"}])")), "tools[1]");
  EXPECT_EQ(refused(with(R"("tools":[{"type":"function","name":"f","parameters":7}])")), "tools[0].parameters");
  EXPECT_EQ(refused(with(R"("tools":[{"type":"namespace","name":"n","tools":[{"type":"function"}]}])")),
            "tools[0].tools[0]");
  EXPECT_EQ(refused(with(R"("tools":{})")), "tools");
}

TEST(ResponsesRequest, NamespacesAreFlattenedToUniqueNames) {
  const auto request = accepted(of_input(
      R"({"type":"function_call","call_id":"c","name":"f","namespace":"n","arguments":"{}"},)"
      R"({"type":"function_call","call_id":"d","name":"f","namespace":"gone","arguments":"{}"})",
      R"("tools":[{"type":"function","name":"f"},{"type":"function","name":"n__f"},)"
      R"({"type":"namespace","name":"n","description":"d",)"
      R"("tools":[{"type":"function","name":"f"},{"type":"custom","name":"p"}]}])"));
  std::vector<std::string> names;
  for (const auto& tool : parse_json(request.tools_json)) names.push_back(tool["function"]["name"]);
  EXPECT_EQ(names, (std::vector<std::string>{"f", "n__f", "n__f_2", "n__p"}));
  const auto* tool = request.responses->tools.find("n__f_2");
  ASSERT_NE(tool, nullptr);
  EXPECT_EQ(tool->name, "f");
  EXPECT_EQ(tool->name_space, "n");
  EXPECT_EQ(request.responses->tools.find("n__p")->form, ToolForm::custom);
  EXPECT_EQ(request.responses->tools.find("p"), nullptr);
  const auto messages = parse_json(request.messages_json);
  EXPECT_EQ(messages[0]["tool_calls"][0]["function"]["name"], "n__f_2");
  EXPECT_EQ(messages[0]["tool_calls"][1]["function"]["name"], "gone__f");
}

TEST(ResponsesRequest, ToolsOfNamespacesCountAsTools) {
  ChatLimits limits;
  limits.tools_max = 2;
  const auto body = with(R"("tools":[{"type":"namespace","name":"n","tools":[)"
                         R"({"type":"function","name":"a"},{"type":"function","name":"b"},)"
                         R"({"type":"function","name":"c"}]}])");
  const auto parsed = parse_openai_responses(body, limits);
  ASSERT_TRUE(std::holds_alternative<ApiError>(parsed));
  EXPECT_EQ(std::get<ApiError>(parsed).param, "tools");
}

TEST(ResponsesRequest, WhatIsNotTextIsRefusedByName) {
  const auto part = [](const std::string& type) {
    return of_input(cat(R"({"role":"user","content":[{"type":")", type, "\"}]}"));
  };
  for (const auto* type : {"input_image", "input_file", "input_audio", "sesame"}) {
    EXPECT_EQ(refused(part(type)), "input[0].content[0]") << type;
    EXPECT_EQ(code_of(part(type)), "unsupported_content") << type;
  }
  const auto* picture = R"({"type":"function_call_output","call_id":"c","output":[{"type":"input_image"}]})";
  EXPECT_EQ(refused(of_input(cat(kHi, ",", picture))), "input[1].output[0]");
  for (const auto* item : {R"({"type":"computer_call_output","call_id":"c"})",
                           R"({"type":"compaction","encrypted_content":"x"})",
                           R"({"type":"sesame"})"})
    EXPECT_EQ(code_of(of_input(item)), "unsupported_content") << item;
  EXPECT_EQ(native(cat(R"({"type":"web_search_call","id":"ws_1","status":"completed"},)", kHi)), kHi);
}

TEST(ResponsesRequest, SaysWhatTheReplyMustBe) {
  const auto request = accepted(with(
      R"("text":{"format":{"type":"json_schema","name":"n","strict":true,"schema":{"type":"null"}}},)"
      R"("tools":[{"type":"function","name":"f","strict":true},{"type":"custom","name":"c"},{"type":"shell"}])"));
  EXPECT_EQ(request.form.text, R"({"type":"null"})");
  EXPECT_TRUE(request.form.is_strict);
  EXPECT_EQ(request.responses->repeated["text"]["format"]["type"], "json_schema");
  EXPECT_EQ(request.strict_tools, std::vector<std::string>{"f"});
}

TEST(ResponsesRequest, MayForceCalls) {
  const auto of = [](const std::string& choice) {
    return accepted(with(cat(R"("tools":[{"type":"function","name":"f"},{"type":"custom","name":"c"},{"type":"shell"}],)"
                             R"("tool_choice":)", choice)));
  };
  using Names = std::vector<std::string>;
  EXPECT_TRUE(of(R"("required")").forced_call.is_forced);
  EXPECT_EQ(of(R"({"type":"function","name":"f"})").forced_call.names, Names{"f"});
  EXPECT_EQ(of(R"({"type":"custom","name":"c"})").forced_call.names, Names{"c"});
  EXPECT_EQ(of(R"({"type":"shell"})").forced_call.names, Names{"shell"});
  const auto allowed = of(R"({"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"f"},{"type":"custom","name":"c"}]})");
  EXPECT_EQ(allowed.forced_call.names, (Names{"f", "c"}));
  EXPECT_EQ(allowed.responses->repeated["tool_choice"]["type"], "allowed_tools");
}

TEST(ResponsesRequest, WrongValuesAreRefusedByName) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("tool_choice":"required")", "tool_choice"},
      {R"("tool_choice":{"type":"function","name":"f"})", "tool_choice"},
      {R"("text":{"format":{"type":"json_schema","name":"n"}})", "text.format.schema"},
      {R"("text":{"format":{"type":"xml"}})", "text.format"},
      {R"("text":7)", "text"},
      {R"("background":true)", "background"},
      {R"("conversation":"conv_1")", "conversation"},
      {R"("prompt":{"id":"p"})", "prompt"},
      {R"("top_logprobs":21)", "top_logprobs"},
      {R"("logit_bias":{"a":2})", "logit_bias"},
      {R"("include":7)", "include"},
      {R"("metadata":[1])", "metadata"},
      {R"("instructions":7)", "instructions"},
      {R"("previous_response_id":7)", "previous_response_id"},
      {R"("store":"yes")", "store"},
      {R"("max_output_tokens":0)", "max_output_tokens"},
      {R"("temperature":-1)", "temperature"},
      {R"("top_p":0)", "top_p"},
      {R"("stream":"yes")", "stream"},
      {R"("parallel_tool_calls":1)", "parallel_tool_calls"},
  };
  for (const auto& [more, name] : cases) EXPECT_EQ(refused(with(more)), name) << more;
}

TEST(ResponsesRequest, BodiesThatAreNotRequests) {
  for (const auto* body : {"", "{", "[]", "null", "\xff\xfe"}) EXPECT_EQ(refused(body), "invalid_json") << body;
  for (const auto* body : {"{}", "{\"input\":[]}", "{\"input\":7}"}) EXPECT_EQ(refused(body), "input") << body;
  for (const auto* item : {"5", "{}", R"({"type":"function_call","name":"f","arguments":"{}"})",
                           R"({"type":"function_call","call_id":"c"})",
                           R"({"type":"function_call_output","output":"x"})",
                           R"({"type":"local_shell_call","call_id":"c"})"})
    EXPECT_EQ(refused(of_input(item)), "input[0]") << item;
  EXPECT_EQ(refused(of_input(R"({"role":"alien","content":"x"})")), "input[0].role");
  EXPECT_EQ(refused(of_input(R"({"role":"user","content":7})")), "input[0].content");
  EXPECT_EQ(refused(of_input(R"({"role":"user","content":[{"type":"input_text"}]})")), "input[0].content[0]");
}

TEST(ResponsesRequest, WhatItRefersToIsLeftToBeLookedUp) {
  const auto request = accepted(
      of_input(cat(kHi, R"(,{"type":"item_reference","id":"msg_1"},{"id":"fc_1"})"), R"("store":false)"));
  EXPECT_TRUE(request.responses->needs_earlier());
  EXPECT_TRUE(request.messages_json.empty());
  EXPECT_EQ(request.responses->references,
            (std::vector<std::pair<std::size_t, std::string>>{{1, "msg_1"}, {2, "fc_1"}}));
  EXPECT_EQ(request.responses->input.size(), 3U);
  EXPECT_TRUE(accepted(with(R"("previous_response_id":"resp_1")")).responses->needs_earlier());
  EXPECT_FALSE(accepted(with("")).responses->needs_earlier());
}

ItemText item(const std::string& text) { return std::make_shared<const std::string>(text); }
std::string joined(const std::optional<std::vector<ItemText>>& items) {
  if (!items) return "unknown";
  std::string text;
  for (const auto& one : *items) text += *one;
  return text;
}

TEST(ResponseStore, AResponseGoesOnFromTheOnesBeforeIt) {
  ResponseStore store;
  store.add("r1", "", {item("a"), item("b")}, {{"o1", item("C")}});
  store.add("r2", "r1", {item("d")}, {{"o2", item("E")}});
  store.add("r3", "r1", {item("f")}, {});   // from the same one
  EXPECT_EQ(joined(store.history("r1")), "abC");
  EXPECT_EQ(joined(store.history("r2")), "abCdE");
  EXPECT_EQ(joined(store.history("r3")), "abCf");
  EXPECT_EQ(joined(store.history("r4")), "unknown");
  EXPECT_EQ(*store.output_item("o2"), "E");
  EXPECT_EQ(store.output_item("a"), nullptr);
  store.add("r5", "gone", {}, {});
  EXPECT_EQ(joined(store.history("r5")), "unknown");
}

// n turns that send everything again cost n texts, not n squared.
TEST(ResponseStore, EqualItemsAreKeptOnce) {
  ResponseStore store;
  std::vector<ItemText> conversation;
  for (int i = 0; i < 20; ++i) {
    std::vector<ItemText> sent;
    for (const auto& text : conversation) sent.push_back(item(*text));   // read from the body anew each time
    sent.push_back(item(std::string(1000, static_cast<char>('a' + i))));
    store.add(cat("r", i), "", sent, {});
    conversation = sent;
  }
  EXPECT_EQ(store.bytes(), 20U * 1000 + (20U * 21 / 2) * sizeof(ItemText));
  EXPECT_EQ(store.history("r19")->size(), 20U);
}

TEST(ResponseStore, TheOldestAreForgottenWhenItIsFull) {
  ResponseStore store(4000);
  for (int i = 0; i < 50; ++i)
    store.add(cat("r", i), i % 10 == 0 ? "" : cat("r", i - 1), {item(std::string(500, static_cast<char>('0' + i)))},
              {{cat("o", i), item(cat("out", i))}});
  EXPECT_LE(store.bytes(), 4000U);
  EXPECT_EQ(joined(store.history("r0")), "unknown");
  EXPECT_EQ(store.output_item("o0"), nullptr);
  EXPECT_EQ(joined(store.history("r49")), "unknown");   // it goes on from one that is gone
  EXPECT_EQ(*store.output_item("o49"), "out49");
  store.add("huge", "", {item(std::string(5000, 'x'))}, {});
  EXPECT_EQ(joined(store.history("huge")), "unknown");
  EXPECT_EQ(store.bytes(), 0U);
}
}  // namespace
}  // namespace corisco::gateway
