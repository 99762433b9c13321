#include "corisco/rollouts/templates.h"

#include <gtest/gtest.h>

namespace corisco::rollouts {
namespace {
const Task kTask{"t1", R"({"text": "say \"hi\"", "n": 3, "ok": true, "none": null, "list": [1, "a"],
                           "deep": {"er": {"x": "y"}}, "a.b": "dotted", "a": {"b": "nested"}})"};

Result<std::string> fill(std::string_view text) {
  return TemplateFiller(kTask, {{"base_url", "http://h/v1"}, {"task_file", "/t.json"}}).fill(text);
}

TEST(Templates, FillNamesAndFields) {
  EXPECT_EQ(fill("").value(), "");
  EXPECT_EQ(fill("plain").value(), "plain");
  EXPECT_EQ(fill("--url={base_url} {task_file}").value(), "--url=http://h/v1 /t.json");
  EXPECT_EQ(fill("{task.text}").value(), "say \"hi\"");
  EXPECT_EQ(fill("{task.n}{task.ok}{task.none}").value(), "3truenull");
  EXPECT_EQ(fill("{task.list}").value(), "[1,\"a\"]");
  EXPECT_EQ(fill("{task.deep.er.x}").value(), "y");
  EXPECT_EQ(fill("{task.deep}").value(), "{\"er\":{\"x\":\"y\"}}");
  EXPECT_EQ(fill("{task.a.b}").value(), "dotted");
}

TEST(Templates, DoubleBracesAreBraces) {
  EXPECT_EQ(fill("{{}}").value(), "{}");
  EXPECT_EQ(fill("{{task.n}}").value(), "{task.n}");
  EXPECT_EQ(fill("{{{task.n}}}").value(), "{3}");
}

TEST(Templates, AMissingKeyIsAnErrorThatNamesItAndTheTask) {
  for (const char* text : {"{task.nope}", "{task.deep.nope}", "{task.n.x}"}) {
    const auto filled = fill(text);
    ASSERT_FALSE(filled.ok()) << text;
    const std::string field = std::string(text).substr(6, std::string(text).size() - 7);
    EXPECT_NE(filled.error().message.find("\"" + field + "\""), std::string::npos)
        << filled.error().message;
    EXPECT_NE(filled.error().message.find("task \"t1\""), std::string::npos);
  }
  EXPECT_NE(fill("{nope}").error().message.find("unknown key {nope}"), std::string::npos);
  EXPECT_NE(fill("{}").error().message.find("unknown key {}"), std::string::npos);
}

TEST(Templates, ALoneBraceIsAnError) {
  EXPECT_FALSE(fill("a { b").ok());
  EXPECT_FALSE(fill("a } b").ok());
  EXPECT_FALSE(fill("{task.n").ok());
}

TEST(Templates, AreCheckedForEveryTaskAtOnce) {
  config::Rollouts rollouts;
  rollouts.harness.command = {"agent", "{task.text}", "{base_url}", "{config_folder}"};
  rollouts.harness.env["EXTRA"] = "{task.extra}";
  const Tasks good = Tasks::of({{"a", R"({"text": "x", "extra": 1})"}}, false, 1);
  const Tasks bad = Tasks::of({{"a", R"({"text": "x", "extra": 1})"}, {"b", R"({"text": "x"})"}}, false, 1);
  EXPECT_TRUE(check_templates(rollouts, good).ok());
  const auto checked = check_templates(rollouts, bad);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().message,
            "task \"b\", template \"{task.extra}\": the task has no field \"extra\"");
}
}  // namespace
}  // namespace corisco::rollouts
