// What a good file sets, paths, overrides, and that what is printed loads back to the same config.
#include "corisco/config/load.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "config/entries.h"
#include "config/values.h"
#include "corisco/base/files.h"
#include "corisco/base/strings.h"
#include "support/temporary_folder.h"

namespace corisco::config {
namespace {
constexpr const char* kEveryKind = R"(
run: {name: a, seed: 18446744073709551615}
model: {path: ../models/m}
sampling: {temperature: 0.01, top_k: 50, obey_client: true}
rollouts:
  tasks: /data/tasks.jsonl
  harness:
    python: agent.py:solve
    python_preload: [openai, lib/warm.py]
    env: {TOPIC: "{task.topic}", EMPTY: ""}
    env_pass: [LANGUAGE]
  reward: {source: python, python: sub/reward.py:grade, minimum: -1.5}
gateway: {upstream_urls: {gpt-4.1: "https://models.example/v1"}}
)";

TEST(Load, SetsEveryKindOfKey) {
  const auto loaded = parse(kEveryKind, "/configs/quick/c.yaml", {});
  ASSERT_TRUE(loaded.problems.empty()) << to_string(loaded.problems[0], "c.yaml");
  const Config& config = loaded.config;
  EXPECT_EQ(config.run.seed, 18446744073709551615U);
  EXPECT_EQ(config.sampling.temperature, 0.01F);  // its bound, as a float a little below it
  EXPECT_EQ(config.sampling.top_k, 50U);
  EXPECT_TRUE(config.sampling.obey_client);
  EXPECT_EQ(config.rollouts.reward.minimum, -1.5);
  EXPECT_EQ(config.rollouts.harness.env, (StringMap{{"EMPTY", ""}, {"TOPIC", "{task.topic}"}}));
  EXPECT_EQ(config.rollouts.harness.env_pass, Strings{"LANGUAGE"});
  EXPECT_EQ(config.gateway.upstream_urls, (StringMap{{"gpt-4.1", "https://models.example/v1"}}));
  EXPECT_EQ(config.rollouts.group_size, 8U);  // not given: its default
}

TEST(Load, PathsAreRelativeToTheFile) {
  const Config config = parse(kEveryKind, "/configs/quick/c.yaml", {}).config;
  EXPECT_EQ(config.file, "/configs/quick/c.yaml");
  EXPECT_EQ(config.model.path, "/configs/models/m");
  EXPECT_EQ(config.rollouts.tasks, "/data/tasks.jsonl");
  EXPECT_EQ(config.rollouts.harness.python, "/configs/quick/agent.py:solve");
  EXPECT_EQ(config.rollouts.reward.python, "/configs/quick/sub/reward.py:grade");
  EXPECT_EQ(config.rollouts.harness.python_preload, (Strings{"openai", "/configs/quick/lib/warm.py"}));
  EXPECT_EQ(config.evaluation.tasks, "");  // empty stays empty
  EXPECT_EQ(config.run.folder, "runs");    // of the working folder, not of the config's
}

TEST(Load, ARelativeFileIsOfTheWorkingFolder) {
  const auto here = std::filesystem::current_path().string();
  EXPECT_EQ(parse("model: {path: m}", "sub/c.yaml", {}).config.model.path, here + "/sub/m");
}

TEST(Load, OverridesTakeThePlaceOfTheFile) {
  const auto loaded = parse("model: {path: m}\nrun: {seed: wrong}\n", "/c.yaml",
                            {"run.seed=5", "rollouts.harness.env_pass=[A, B]", "run.name=\"x=y\"",
                             "sampling={top_p: 0.5, min_p: 0.1}", "run.seed=6"});
  ASSERT_TRUE(loaded.problems.empty()) << to_string(loaded.problems[0], "c.yaml");
  EXPECT_EQ(loaded.config.run.seed, 6U);
  EXPECT_EQ(loaded.config.rollouts.harness.env_pass, (Strings{"A", "B"}));
  EXPECT_EQ(loaded.config.run.name, "x=y");
  EXPECT_EQ(loaded.config.sampling.top_p, 0.5F);
  EXPECT_EQ(loaded.config.sampling.min_p, 0.1F);
}

TEST(Load, DollarsAreDoubledToStayPlain) {
  ::setenv("CORISCO_TEST_WORD", "w", 1);
  const auto config =
      parse("model: {path: m}\ngateway: {static_key: '$$x ${CORISCO_TEST_WORD} $y $${Z}'}", "/c", {});
  EXPECT_EQ(config.config.gateway.static_key, "$x w $y ${Z}");
}

TEST(Load, FilesThatAreNotThereAreProblems) {
  const support::TemporaryFolder folder;
  ASSERT_TRUE(files::write_atomically(folder / "reward.py", "").ok());
  ASSERT_TRUE(files::write_atomically(folder / "c.yaml",
                                      "model:\n  path: .\n"
                                      "rollouts:\n  tasks: none.jsonl\n"
                                      "  reward: {source: python, python: reward.py:f}\n")
                  .ok());
  const auto loaded = load(folder / "c.yaml", {});
  ASSERT_TRUE(loaded.ok());
  ASSERT_EQ(loaded.value().problems.size(), 1U);
  EXPECT_EQ(to_string(loaded.value().problems[0], "c.yaml"),
            "c.yaml:4: rollouts.tasks: there is no " + folder / "none.jsonl");
}

TEST(Load, AMissingConfigIsAnError) {
  const auto loaded = load("/nowhere/c.yaml", {});
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, Code::not_found);
}

// Every key away from its default, with the characters that quoting could break.
Config unlike_the_defaults() {
  Config config = parse("model: {path: /m}", "/c.yaml", {}).config;
  int n = 0;
  for (const Entry& entry : entries_of(config)) {
    ++n;
    const Rule& rule = entry.rule;
    if (auto* const* text = std::get_if<std::string*>(&entry.target)) {
      if (!rule.one_of.empty()) **text = rule.one_of.back();
      if (rule.is_path) **text = cat("/some where/", n, "#: '\"\\x.py:f");
    } else if (auto* const* flag = std::get_if<bool*>(&entry.target)) {
      **flag = !**flag;
    } else if (auto* const* real = std::get_if<float*>(&entry.target)) {
      **real = static_cast<float>(std::max(rule.min, 0.0)) + 1.0F / 3.0F + static_cast<float>(n) * 1e-4F;
    }
  }
  config.run.name = "~ null \t\n \x01 $x ${HOME} $$ \xc3\xa3 - [a]: {b}";
  config.rollouts.harness.command = {"sh", "-c", "echo \"${HOME}\" '$$' \\n", "", "null", "1"};
  config.rollouts.harness.env = {{"A", "{task.a}"}, {"B", "null"}, {"C", ""}};
  config.run.seed = 18446744073709551615U;
  return config;
}

TEST(Print, LoadsBackToTheSameConfig) {
  for (Config config : {Config{}, unlike_the_defaults()}) {
    Config again = parse(to_yaml(config), "/c.yaml", {}).config;
    const auto entries = entries_of(config), read = entries_of(again);
    ASSERT_EQ(entries.size(), read.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      EXPECT_EQ(yaml_of(entries[i].target), yaml_of(read[i].target)) << entries[i].path;
    }
    EXPECT_EQ(again.run.name, config.run.name);
    EXPECT_EQ(again.rollouts.harness.command, config.rollouts.harness.command);
    EXPECT_EQ(again.trainer.learning_rate, config.trainer.learning_rate);
  }
}

TEST(Print, HidesSecrets) {
  Config config;
  EXPECT_NE(to_yaml(config).find("admin_key: \"\"\n"), std::string::npos);  // shows that none is set
  config.gateway.admin_key = "opensesame";
  config.gateway.static_key = "abracadabra";
  const std::string yaml = to_yaml(config);
  EXPECT_NE(yaml.find("admin_key: \"***\"\n"), std::string::npos);
  EXPECT_EQ(yaml.find("opensesame"), std::string::npos);
  EXPECT_EQ(yaml.find("abracadabra"), std::string::npos);
}

TEST(Print, ExplainsEachKeyAndIndentsSections) {
  const std::string yaml = to_yaml(Config{});
  EXPECT_EQ(yaml.find("run:\n  # The run's folder is folder/name, or folder/name-2, ... if that exists.\n"
                      "  name: \"run\"\n"),
            0U);
  EXPECT_NE(yaml.find("  harness:\n    # An agent that is started"), std::string::npos);
  EXPECT_NE(yaml.find("    command: []\n"), std::string::npos);
  EXPECT_NE(yaml.find("  # Peak of the schedule.\n  learning_rate: 1e-06\n"), std::string::npos);
}
}  // namespace
}  // namespace corisco::config
