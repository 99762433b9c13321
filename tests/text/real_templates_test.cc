// Real models' chat templates render as transformers renders them (golden/real_templates.json, written by
// scripts/golden/templates.py). The templates come from scripts/fetch_templates.sh, CORISCO_TEMPLATES names them.
#include "corisco/text/chat_template.h"

#include <gtest/gtest.h>
#include <time.h>

#include <cstdlib>

#include "text/golden_files.h"

namespace corisco::text {
namespace {
using testing::Json;

class RealTemplates : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("CORISCO_TEMPLATES");
    if (folder == nullptr || *folder == '\0')
      GTEST_SKIP() << "set CORISCO_TEMPLATES to what scripts/fetch_templates.sh prints";
    folder_ = folder;
    golden_ = testing::golden_json("real_templates.json");
    ::setenv("TZ", golden_["timezone"].get<std::string>().c_str(), 1);
    ::tzset();
  }
  ChatInput input_of(const Json& conversation) const {
    ChatInput input;
    input.messages_json = json_text(conversation["messages"]);
    if (conversation.contains("tools")) input.tools_json = json_text(conversation["tools"]);
    if (conversation.contains("kwargs")) input.kwargs_json = json_text(conversation["kwargs"]);
    input.now_unix_seconds = golden_["now_unix_seconds"];
    return input;
  }
  void check(const Json& item, const ChatTemplate& chat_template) const {
    for (const auto& [name, expected] : item["expected"].items()) {
      const auto result = chat_template.render(input_of(golden_["conversations"][name]));
      EXPECT_EQ(result.ok(), expected.contains("text")) << name << (result.ok() ? "" : ": " + result.error().message);
      if (result.ok() && expected.contains("text")) { EXPECT_EQ(result.value(), expected["text"]) << name; }
    }
  }

  std::string folder_;
  Json golden_;
};

TEST_F(RealTemplates, RenderAsTransformers) {
  ASSERT_GT(golden_["templates"].size(), 15U);
  for (const auto& item : golden_["templates"]) {
    const auto name = item["name"].get<std::string>();
    SCOPED_TRACE(name);
    const auto source = files::read(folder_ + "/" + name + ".jinja");
    ASSERT_TRUE(source.ok()) << source.error().message;
    ASSERT_EQ(files::sha256(source.value()), item["sha256"]) << "another version of the template";
    testing::ModelFolder folder;
    folder.with("chat_template.jinja", source.value());
    folder.with("tokenizer_config.json", json_text(golden_["special_tokens"]));
    const auto loaded = ChatTemplate::load(folder.path());
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    check(item, *loaded.value());
  }
}
}  // namespace
}  // namespace corisco::text
