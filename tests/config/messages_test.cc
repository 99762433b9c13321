// The exact text of every kind of problem, as a user sees it.
#include <gtest/gtest.h>

#include <cstdlib>

#include "config/entries.h"
#include "corisco/base/strings.h"
#include "corisco/config/load.h"

namespace corisco::config {
namespace {
constexpr const char* kModel = "model: {path: m}\n";

// All problems of a text that otherwise has what is required, a line each.
std::string problems_of(const std::string& yaml, const std::vector<std::string>& overrides = {}) {
  std::string lines;
  for (const auto& problem : parse(yaml, "c.yaml", overrides).problems)
    lines += to_string(problem, "c.yaml") + "\n";
  return lines;
}

TEST(Messages, AGoodConfigHasNone) { EXPECT_EQ(problems_of(kModel), ""); }

TEST(Messages, BelowItsBound) {
  EXPECT_EQ(problems_of(cat(kModel, "rollouts:\n  group_size: 0\n")),
            "c.yaml:3: rollouts.group_size: 0 is below 1 (Sibling rollouts of a task.)\n");
  EXPECT_EQ(problems_of(cat(kModel, "rollouts:\n  group_size: -3\n")),
            "c.yaml:3: rollouts.group_size: -3 is below 1 (Sibling rollouts of a task.)\n");
}

TEST(Messages, AboveItsBound) {
  EXPECT_EQ(
      problems_of(cat(kModel, "sampling:\n  top_p: 1.5\n")),
      "c.yaml:3: sampling.top_p: 1.5 is above 1 (1: off. Truncation biases the ratio that the loss uses.)\n");
  EXPECT_EQ(problems_of(cat(kModel, "run:\n  updates: 5000000000\n")),
            "c.yaml:3: run.updates: 5000000000 is above 4294967295 (Updates to make; 0 serves without "
            "training.)\n");
}

TEST(Messages, WrongType) {
  const auto updates = [](const std::string& value) {
    return problems_of(cat(kModel, "run:\n  updates: ", value));
  };
  const std::string help = " (Updates to make; 0 serves without training.)\n";
  EXPECT_EQ(updates("many"), "c.yaml:3: run.updates: \"many\" is not a whole number" + help);
  EXPECT_EQ(updates("1.5"), "c.yaml:3: run.updates: \"1.5\" is not a whole number" + help);
  EXPECT_EQ(updates("1e3"), "c.yaml:3: run.updates: \"1e3\" is not a whole number" + help);
  EXPECT_EQ(updates("[1]"), "c.yaml:3: run.updates: must be a whole number, but holds a list" + help);
  EXPECT_EQ(updates(""), "c.yaml:3: run.updates: has no value; write \"\" for an empty text" + help);
  EXPECT_EQ(
      problems_of(cat(kModel, "metrics:\n  tensorboard: yes\n")),
      "c.yaml:3: metrics.tensorboard: \"yes\" is not true or false (Also write the run's curves as TensorBoard "
      "events.)\n");
  EXPECT_EQ(problems_of(cat(kModel, "trainer:\n  epsilon: .nan\n")),
            "c.yaml:3: trainer.epsilon: \".nan\" is not a finite number (AdamW.)\n");
  EXPECT_EQ(problems_of(cat(kModel, "rollouts:\n  harness:\n    command: ./agent\n")),
            "c.yaml:4: rollouts.harness.command: must be a list of texts, but is a single value (" +
                std::string(find(
                                [] {
                                  static Config defaults;
                                  static const auto entries = entries_of(defaults);
                                  return entries;
                                }(),
                                "rollouts.harness.command")
                                ->rule.help) +
                ")\n");
}

TEST(Messages, NotOneOfTheWords) {
  EXPECT_EQ(problems_of("model: {path: m, device: gpu}\n"),
            "c.yaml:1: model.device: \"gpu\" is not one of cpu, cuda (Where the model lives.)\n");
}

TEST(Messages, UnknownKeysAndWhatWasMeant) {
  EXPECT_EQ(problems_of(cat(kModel, "rollouts:\n  groupsize: 4\n")),
            "c.yaml:3: rollouts.groupsize: is not a key; did you mean rollouts.group_size?\n");
  EXPECT_EQ(problems_of(cat(kModel, "trainr: {}\n")),
            "c.yaml:2: trainr: is not a key; did you mean trainer?\n");
  EXPECT_EQ(problems_of(cat(kModel, "trainer:\n  temperature: 1\n")),
            "c.yaml:3: trainer.temperature: is not a key; did you mean sampling.temperature?\n");
  EXPECT_EQ(problems_of(cat(kModel, "engine:\n  flux_capacitor: 1\n")),
            "c.yaml:3: engine.flux_capacitor: is not a key; docs/config.md lists them all\n");
}

TEST(Messages, GivenTwice) {
  EXPECT_EQ(problems_of(cat(kModel, "run:\n  seed: 1\n  seed: 2\n")),
            "c.yaml:4: run.seed: is given twice, first on line 3\n");
  EXPECT_EQ(problems_of(cat(kModel, "run:\n  seed: 1\nrun:\n  seed: 2\n")),
            "c.yaml:4: run: is given twice, first on line 2\n");
}

TEST(Messages, RequiredAndMissing) {
  const std::string help = "(Hugging Face folder: config.json, safetensors, tokenizer.json.)\n";
  EXPECT_EQ(problems_of(""), "c.yaml: model.path: is required " + help);
  EXPECT_EQ(problems_of("model:\n  path: \"\"\n"), "c.yaml:2: model.path: is required " + help);
}

TEST(Messages, SectionsAreMaps) {
  EXPECT_EQ(problems_of(cat(kModel, "run: 5\n")),
            "c.yaml:2: run: is a section and must hold keys, but is a single value\n");
  EXPECT_EQ(problems_of(cat(kModel, "run:\n")), "");
  EXPECT_NE(problems_of("- a\n").find("c.yaml:1: the file must be a map of sections, but is a list\n"),
            std::string::npos);
}

TEST(Messages, WhatIsNotYaml) {
  EXPECT_NE(problems_of("model: {path: m\nrun: [").find("c.yaml:2: not YAML: "), std::string::npos);
  EXPECT_NE(problems_of("model: {path: m}\n---\nrun: {}\n").find("more than one YAML document"),
            std::string::npos);
  // yaml-cpp reads it as empty documents without end.
  EXPECT_NE(problems_of(", run: {}\n").find("more than one YAML document"), std::string::npos);
}

TEST(Messages, AllAtOnceInTheOrderOfTheLines) {
  const auto found = problems_of("run:\n  seed: x\n  nam: y\nengine:\n  block_tokens: 0\n");
  EXPECT_EQ(
      found,
      "c.yaml:2: run.seed: \"x\" is not a whole number (Of the order of tasks and of every draw.)\n"
      "c.yaml:3: run.nam: is not a key; did you mean run.name?\n"
      "c.yaml:5: engine.block_tokens: 0 is below 1 (Tokens of one KV block.)\n"
      "c.yaml: model.path: is required (Hugging Face folder: config.json, safetensors, tokenizer.json.)\n");
}

TEST(Messages, Variables) {
  ::setenv("CORISCO_TEST_SEED", "17", 1);
  ::unsetenv("CORISCO_TEST_UNSET");
  EXPECT_EQ(parse("model: {path: m}\nrun: {seed: \"${CORISCO_TEST_SEED}\"}\n", "c.yaml", {}).config.run.seed,
            17U);
  const auto name = [](const std::string& text) {
    return problems_of(cat(kModel, "run:\n  name: '", text, "'\n"));
  };
  const std::string help = " (The run's folder is folder/name, or folder/name-2, ... if that exists.)\n";
  EXPECT_EQ(name("${CORISCO_TEST_UNSET}"),
            "c.yaml:3: run.name: environment variable CORISCO_TEST_UNSET is not set" + help);
  EXPECT_EQ(name("a${"), "c.yaml:3: run.name: \"a${\": ${ without } (write $${ for a plain ${)" + help);
  EXPECT_EQ(name("${a-b}"),
            "c.yaml:3: run.name: \"${a-b}\" is not a variable's name (write $${ for a plain ${)" + help);
}

TEST(Messages, Overrides) {
  EXPECT_EQ(problems_of(kModel, {"run.updates"}),
            "c.yaml: run.updates: --set: needs a value, as in run.updates=10\n");
  EXPECT_EQ(problems_of(kModel, {"run.sed=1"}),
            "c.yaml: run.sed: --set: is not a key; did you mean run.seed?\n");
  EXPECT_EQ(problems_of(kModel, {"engine.queue_max=0"}),
            "c.yaml: engine.queue_max: --set: 0 is below 1 (Sequences that wait; beyond that a request gets "
            "429.)\n");
}
}  // namespace
}  // namespace corisco::config
