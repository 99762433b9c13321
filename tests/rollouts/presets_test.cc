// What each preset starts, and that nothing of a task or a model's name is taken for a template.
#include "rollouts/presets.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "corisco/rollouts/agent_start.h"
#include "corisco/rollouts/templates.h"
#include "rollouts/launches.h"
#include "rollouts/temporary_folder.h"

namespace corisco::rollouts {
namespace {
using nlohmann::json;

// A harness of task 1 in `folder`, with the preset, at http://h:1.
class PresetTest : public ::testing::Test {
 protected:
  PresetTest() {
    config.file = "/configs/recipe.yaml";
    config.engine.context_tokens_max = 32768;
    config.sampling.max_tokens = 2048;
    spec.id = RolloutId{7};
    spec.task_id = "t";
    spec.task_json = R"({"prompt": "--say {\"hi\"}"})";
  }
  ~PresetTest() override { ::setenv("PATH", path.c_str(), 1); }

  Launch launch(const std::string& preset) {
    config.rollouts.harness.preset = preset;
    const AttemptKey attempt{spec.id, 1};
    const LaunchContext context{&config, "/configs", "http://h:1", &spec, attempt, "key-7",
                                attempt_folder(folder.path(), attempt)};
    EXPECT_TRUE(create(context.folder, spec.task_json).ok());
    auto launched = harness_launch(context);
    EXPECT_TRUE(launched.ok()) << launched.error().message;
    return launched.ok() ? std::move(launched.value()) : Launch{};
  }

  std::string home() const { return attempt_folder(folder.path(), {spec.id, 1}).home_folder; }

  const std::string path = std::getenv("PATH");
  TemporaryFolder folder;
  config::Config config;
  RolloutSpec spec;
};

constexpr const char* kUrl = "http://h:1/rollout/7/attempt/1";

TEST_F(PresetTest, EachHasItsProgramAPrivateHomeAndTheContract) {
  const std::map<std::string, std::string> programs{
      {"mini-swe-agent", "mini"}, {"openhands", "openhands"}, {"opencode", "opencode"},
      {"claude-code", "claude"},  {"codex", "codex"},         {"qwen-code", "qwen"}};
  ASSERT_EQ(preset_names().size(), programs.size());
  for (const auto& name : preset_names()) {
    const Launch launched = launch(name);
    ASSERT_FALSE(launched.argv.empty());
    EXPECT_EQ(launched.argv[0], programs.at(name));
    EXPECT_EQ(launched.env.at("HOME"), home());
    EXPECT_EQ(launched.env.at("OPENAI_BASE_URL"), cat(kUrl, "/v1"));
    EXPECT_EQ(launched.env.at("ANTHROPIC_BASE_URL"), kUrl);
    EXPECT_EQ(launched.env.at("OPENAI_API_KEY"), "key-7");
    EXPECT_TRUE(std::filesystem::is_directory(home()));
  }
}

TEST_F(PresetTest, ThePromptIsOneArgumentThatCannotBeAnOption) {
  const std::string prompt = "--say {\"hi\"}";
  EXPECT_EQ(launch("mini-swe-agent").argv[2], "--task=" + prompt);
  EXPECT_EQ(launch("openhands").argv.back(), "--task=" + prompt);
  EXPECT_EQ(launch("qwen-code").argv.back(), "--prompt=" + prompt);
  for (const char* preset : {"opencode", "claude-code", "codex"}) {
    const auto argv = launch(preset).argv;
    EXPECT_EQ(argv.back(), prompt);
    EXPECT_EQ(argv[argv.size() - 2], "--");
  }
}

TEST_F(PresetTest, OpenHandsHasATerminalServerOfItsOwn) {
  const auto env = launch("openhands").env;
  EXPECT_EQ(env.at("TMUX_TMPDIR"), home());
  EXPECT_EQ(env.at("LLM_BASE_URL"), cat(kUrl, "/v1"));
  EXPECT_EQ(env.at("LLM_API_KEY"), "key-7");
  EXPECT_EQ(env.at("LLM_MODEL"), "openai/policy");
}

TEST_F(PresetTest, AFolderTooDeepForOpenHandsTerminalIsTold) {
  const AgentStart start{"openhands", "http://h:1", "key", "m", "do it", folder / std::string(100, 'x')};
  ::setenv("PATH", folder.path().c_str(), 1);
  ::chmod(folder.write("openhands", "#!/bin/sh\n").c_str(), 0700);
  const auto launched = agent_launch(start);
  ASSERT_FALSE(launched.ok());
  EXPECT_NE(launched.error().message.find("choose a shorter run.folder"), std::string::npos);
}

TEST_F(PresetTest, OpenCodeIsToldInJsonWithItsOwnPlaceholdersLeft) {
  const json settings = parse_json(launch("opencode").env.at("OPENCODE_CONFIG_CONTENT"));
  ASSERT_TRUE(settings.is_object());
  const json& provider = settings["provider"]["corisco"];
  EXPECT_EQ(provider["options"]["baseURL"], "{env:OPENAI_BASE_URL}");
  EXPECT_EQ(provider["models"]["policy"]["limit"], json({{"context", 32768}, {"output", 2048}}));
  EXPECT_EQ(settings["permission"], json({{"*", "allow"}}));
}

TEST_F(PresetTest, CodexSpeaksResponsesAndCompactsInTime) {
  const auto argv = launch("codex").argv;
  const auto has = [&](const std::string& setting) {
    const auto found = std::find(argv.begin(), argv.end(), setting);
    return found != argv.end() && *(found - 1) == "-c";
  };
  EXPECT_TRUE(has(cat("model_providers.corisco.base_url=\"", kUrl, "/v1\"")));
  EXPECT_TRUE(has("model_providers.corisco.wire_api=\"responses\""));
  EXPECT_TRUE(has("model_context_window=32768"));
  EXPECT_TRUE(has("model_auto_compact_token_limit=29484"));  // nine tenths, from 3276 * 9
}

TEST_F(PresetTest, ClaudeCodeKnowsTheWindowOnlyIfTheConfigDoes) {
  auto env = launch("claude-code").env;
  EXPECT_EQ(env.at("CLAUDE_CODE_MAX_CONTEXT_TOKENS"), "32768");
  EXPECT_EQ(env.at("CLAUDE_CODE_MAX_OUTPUT_TOKENS"), "2048");
  EXPECT_EQ(env.at("CLAUDE_CODE_SUBAGENT_MODEL"), "policy");
  config.engine.context_tokens_max = 0;
  EXPECT_EQ(launch("claude-code").env.count("CLAUDE_CODE_MAX_CONTEXT_TOKENS"), 0U);
}

TEST_F(PresetTest, QwenCodeFindsItsSettingsInItsHome) {
  launch("qwen-code");
  const json settings = parse_json(content_of(home() + "/.qwen/settings.json"));
  ASSERT_TRUE(settings.is_object());
  EXPECT_EQ(settings["security"]["auth"]["selectedType"], "openai");
  EXPECT_EQ(settings["memory"]["enableManagedAutoMemory"], false);
  EXPECT_EQ(settings["model"]["generationConfig"]["contextWindowSize"], 32768);
}

TEST_F(PresetTest, TheFirstServedNameIsTheModelsAndTheUsersEnvironmentWins) {
  config.gateway.model_names = {"a{b}", "other"};
  config.rollouts.harness.env = {{"LITELLM_LOCAL_MODEL_COST_MAP", "False"}, {"EXTRA", "{home_folder}/x"}};
  const Launch launched = launch("mini-swe-agent");
  EXPECT_EQ(launched.argv[1], "--model=openai/a{b}");
  EXPECT_EQ(launched.env.at("LITELLM_LOCAL_MODEL_COST_MAP"), "False");
  EXPECT_EQ(launched.env.at("EXTRA"), home() + "/x");
}

TEST_F(PresetTest, PromptsAreCheckedAgainstEveryTask) {
  config.rollouts.harness.preset = "codex";
  config.rollouts.harness.prompt = "{task.question}";
  const auto checked = check_templates(config.rollouts, Tasks::of({{"a", R"({"prompt": "x"})"}}, false, 1));
  ASSERT_FALSE(checked.ok());
  EXPECT_NE(checked.error().message.find("the task has no field \"question\""), std::string::npos);
}

TEST_F(PresetTest, AMissingProgramIsToldWithWhatInstallsIt) {
  ::setenv("PATH", folder.path().c_str(), 1);
  config.rollouts.harness.preset = "claude-code";
  const auto missing = check_program(config.rollouts.harness);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("the program claude"), std::string::npos);
  EXPECT_NE(missing.error().message.find("scripts/agents/install.sh claude-code"), std::string::npos);
  ::chmod(folder.write("claude", "#!/bin/sh\n").c_str(), 0700);
  EXPECT_TRUE(check_program(config.rollouts.harness).ok());
  config.rollouts.harness.env["PATH"] = "/nowhere";
  EXPECT_FALSE(check_program(config.rollouts.harness).ok());
  config.rollouts.harness.preset = "none";
  EXPECT_TRUE(check_program(config.rollouts.harness).ok());
}

TEST_F(PresetTest, AnAgentCanBeStartedOutsideAnyRollout) {
  ::setenv("PATH", folder.path().c_str(), 1);
  ::chmod(folder.write("qwen", "#!/bin/sh\n").c_str(), 0700);
  const AgentStart start{"qwen-code", "http://other:2", "key", "m", "do {it}", folder / "by-hand"};
  const auto launched = agent_launch(start);
  ASSERT_TRUE(launched.ok()) << launched.error().message;
  EXPECT_EQ(launched.value().argv.back(), "--prompt=do {it}");
  EXPECT_EQ(launched.value().env.at("OPENAI_BASE_URL"), "http://other:2/v1");
  EXPECT_EQ(launched.value().env.count("CORISCO_TASK"), 0U);
  EXPECT_EQ(launched.value().work_folder, folder / "by-hand/work");
  EXPECT_TRUE(std::filesystem::exists(folder / "by-hand/home/.qwen/settings.json"));
}
}  // namespace
}  // namespace corisco::rollouts
