// Renderings against those of transformers (golden files), and what happens when they fail.
#include "corisco/base/json.h"
#include "corisco/text/chat_template.h"

#include <gtest/gtest.h>
#include <time.h>

#include "text/golden_files.h"

namespace corisco::text {
namespace {
using testing::golden_json;
using testing::golden_text;
using testing::Json;
using testing::ModelFolder;
using TemplatePointer = std::shared_ptr<const ChatTemplate>;

const char* const kHello = R"([{"role": "user", "content": "hi"}])";

TemplatePointer load(const ModelFolder& folder) {
  auto loaded = ChatTemplate::load(folder.path());
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : loaded.error().message);
  return loaded.ok() ? loaded.value() : nullptr;
}

std::string text_or_error(const Result<std::string>& result) {
  return result.ok() ? result.value() : "error: " + result.error().message;
}

ChatInput input_with(const std::string& messages, const std::string& tools = "",
                     const std::string& kwargs = "") {
  return {.messages_json = messages, .tools_json = tools, .kwargs_json = kwargs};
}

std::string render(const ModelFolder& folder, const std::string& tools = "") {
  const auto chat_template = load(folder);
  if (!chat_template) return "";
  return text_or_error(chat_template->render(input_with(kHello, tools)));
}

ChatInput input_of(const Json& item, double now) {
  ChatInput input = input_with(json_text(item["messages"]));
  if (item.contains("tools")) input.tools_json = json_text(item["tools"]);
  if (item.contains("kwargs")) input.kwargs_json = json_text(item["kwargs"]);
  input.add_generation_prompt = item.value("add_generation_prompt", true);
  input.now_unix_seconds = now;
  return input;
}

TEST(ChatTemplate, RendersAsTransformers) {
  const Json golden = golden_json("conversations.json");
  ::setenv("TZ", golden["timezone"].get<std::string>().c_str(), 1);
  ::tzset();
  ASSERT_GT(golden["cases"].size(), 20U);
  for (const Json& item : golden["cases"]) {
    SCOPED_TRACE(item["name"].get<std::string>() + " with " + item["template"].get<std::string>());
    ModelFolder folder;
    folder.with("chat_template.jinja",
                golden_text("templates/" + item["template"].get<std::string>() + ".jinja"));
    folder.with("tokenizer_config.json", json_text(item.value("special_tokens", Json::object())));
    const auto chat_template = load(folder);
    ASSERT_TRUE(chat_template);
    const auto result = chat_template->render(input_of(item, golden["now_unix_seconds"]));
    const Json& expected = item["expected"];
    EXPECT_EQ(result.ok(), expected.contains("text"));
    if (expected.contains("text")) {
      EXPECT_EQ(text_or_error(result), expected["text"].get<std::string>());
    }
  }
}

TEST(ChatTemplate, SourcesInTheirOrder) {
  ModelFolder folder;
  folder.with("tokenizer_config.json", R"({"chat_template": "from config"})");
  EXPECT_EQ(render(folder), "from config");
  folder.with("chat_template.jinja", "from file");
  EXPECT_EQ(render(folder), "from file");
  folder.with("additional_chat_templates/tool_use.jinja", "for tools");
  EXPECT_EQ(render(folder), "from file");
  EXPECT_EQ(render(folder, "[]"), "for tools");
}

TEST(ChatTemplate, NamedTemplates) {
  ModelFolder folder;
  folder.with("tokenizer_config.json", R"({"chat_template": [
      {"name": "rag", "template": "documents"}, {"name": "default", "template": "plain"},
      {"name": "tool_use", "template": "{{ tools | length }} tools"}]})");
  EXPECT_EQ(render(folder), "plain");
  EXPECT_EQ(render(folder, R"([{"type": "function"}])"), "1 tools");
}

TEST(ChatTemplate, SpecialTokensAsTextOrObjectOrFromTheMap) {
  ModelFolder folder;
  folder.with("chat_template.jinja",
              "{{ bos_token }}|{{ eos_token }}|{{ pad_token }}|{{ unk_token is defined }}");
  folder.with("tokenizer_config.json",
              R"({"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false},
                  "unk_token": null})");
  folder.with("special_tokens_map.json", R"({"pad_token": "<pad>", "bos_token": "<other>"})");
  EXPECT_EQ(render(folder), "<s>|</s>|<pad>|False");
}

TEST(ChatTemplate, TemplateArgumentsOverrideSpecialTokensButNotTheInput) {
  ModelFolder folder;
  folder.with("chat_template.jinja", "{{ bos_token }}{{ messages | length }}");
  folder.with("tokenizer_config.json", R"({"bos_token": "<s>"})");
  const auto chat_template = load(folder);
  ASSERT_TRUE(chat_template);
  const auto with = [&](const std::string& kwargs) {
    return text_or_error(chat_template->render(input_with(kHello, "", kwargs)));
  };
  EXPECT_EQ(with(R"({"bos_token": "<x>"})"), "<x>1");
  EXPECT_NE(with(R"({"messages": []})").find("messages cannot be passed"), std::string::npos);
  EXPECT_NE(with("[1]").find("must be an object"), std::string::npos);
}

TEST(ChatTemplate, NullFieldsAreAbsent) {
  ModelFolder folder;
  folder.with("chat_template.jinja",
              "{% for m in messages %}{{ '[' + m.content + ']' }}{{ m.tool_calls is defined }}{% endfor %}");
  const auto chat_template = load(folder);
  ASSERT_TRUE(chat_template);
  const std::string messages = R"([{"role": "assistant", "content": null, "tool_calls": null},
                                   {"role": "assistant"}])";
  EXPECT_EQ(text_or_error(chat_template->render(input_with(messages))),
            "[]False[]False");
}

TEST(ChatTemplate, RaisingIsTheCallersErrorInTheTemplatesWords) {
  ModelFolder folder;
  folder.with("chat_template.jinja", "{{ raise_exception('only two roles, not ' ~ messages[0].role) }}");
  const auto chat_template = load(folder);
  ASSERT_TRUE(chat_template);
  const auto result = chat_template->render(input_with(kHello));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::invalid_argument);
  EXPECT_EQ(result.error().message,
            "could not render the conversation: the chat template refuses this conversation: "
            "only two roles, not user");
}

TEST(ChatTemplate, WrongInputIsRefused) {
  ModelFolder folder;
  folder.with("chat_template.jinja", "{% for m in messages %}{{ m.content }}{% endfor %}{{ tools }}");
  const auto chat_template = load(folder);
  ASSERT_TRUE(chat_template);
  const auto expect_refusal = [&](const ChatInput& input, const std::string& words) {
    const auto result = chat_template->render(input);
    ASSERT_FALSE(result.ok()) << result.value();
    EXPECT_EQ(result.error().code, Code::invalid_argument);
    EXPECT_NE(result.error().message.find(words), std::string::npos) << result.error().message;
  };
  const std::string image =
      R"([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}])";
  expect_refusal(input_with("["), "messages is not valid JSON");
  expect_refusal(input_with("{}"), "array of objects");
  expect_refusal(input_with("[1]"), "messages[0]");
  expect_refusal(input_with(image), "image_url");
  expect_refusal(input_with(kHello, "{}"), "tools must be an array");
  expect_refusal(input_with(std::string(4000, '[')), "recursion");
}

TEST(ChatTemplate, ATemplateThatNeverEndsIsStopped) {
  ModelFolder folder;
  folder.with("chat_template.jinja", "{% macro again(n) %}{{ again(n + 1) }}{% endmacro %}{{ again(0) }}");
  const auto chat_template = load(folder);
  ASSERT_TRUE(chat_template);
  EXPECT_FALSE(chat_template->render(input_with(kHello)).ok());
}

TEST(ChatTemplate, MissingAndBrokenTemplatesAreNamedWithARemedy) {
  const auto expect_error = [](const ModelFolder& folder, Code code, const std::string& words) {
    const auto loaded = ChatTemplate::load(folder.path());
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().code, code);
    EXPECT_NE(loaded.error().message.find(words), std::string::npos) << loaded.error().message;
    EXPECT_NE(loaded.error().message.find(folder.path()), std::string::npos) << loaded.error().message;
  };
  ModelFolder none;
  expect_error(none, Code::not_found, "add chat_template.jinja");
  ModelFolder base;
  base.with("tokenizer_config.json", R"({"model_max_length": 8192})");
  expect_error(base, Code::not_found, "instruction");
  ModelFolder broken;
  broken.with("tokenizer_config.json", "{");
  expect_error(broken, Code::invalid_argument, "not a JSON object");
  ModelFolder syntax;
  syntax.with("chat_template.jinja", "{% for x %}");
  expect_error(syntax, Code::invalid_argument, "not a valid template");
}
}  // namespace
}  // namespace corisco::text
