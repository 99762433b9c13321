#include "app/resume_check.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "config/entries.h"
#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace {
namespace fs = std::filesystem;

class ResumeCheck : public ::testing::Test {
 protected:
  ResumeCheck() {
    char name[] = "/tmp/corisco-resume-XXXXXX";
    path = ::mkdtemp(name);
    fs::create_directories(path + "/model");
    fs::create_directories(path + "/run");
    EXPECT_TRUE(files::write_atomically(path + "/model/config.json", "{}").ok());
    config.model.path = path + "/model";
    config.run.updates = 3;
    config.rollouts.tasks = path + "/tasks.jsonl";
    config.file = path + "/recipe.yaml";
    fs::create_directories(path + "/tools");
    for (const char* file : {"/agent.py", "/tools/grade.py"})
      EXPECT_TRUE(files::write_atomically(path + file, "1").ok());
    config.rollouts.harness.command = {"python3", "{config_folder}/agent.py", "{config_folder}/{task.id}", "1"};
    config.rollouts.reward.source = "python";
    config.rollouts.reward.python = path + "/tools/grade.py:grade";
    folder.path = path + "/run";
    folder.name = "run";
    EXPECT_TRUE(write_manifest(folder, config, "avx2", "tasks", "held-out").ok());
  }
  ~ResumeCheck() override { fs::remove_all(path); }
  Result<void> check(bool accept = false) const { return check_resume(folder, config, tasks, "held-out", accept); }

  std::string path, tasks = "tasks";
  config::Config config;
  RunFolder folder;
};

TEST_F(ResumeCheck, TheSameRunGoesOn) {
  EXPECT_TRUE(changes_of(folder, config, "tasks", "held-out").empty());
  EXPECT_TRUE(check().ok());
}

TEST_F(ResumeCheck, EveryDifferenceThatMattersIsListed) {
  config.trainer.learning_rate = 0.5;
  config.model.threads = 7;
  config.run.updates = 9;
  tasks = "others";
  ASSERT_TRUE(files::write_atomically(path + "/model/config.json", "{ }").ok());
  const auto refused = check();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::conflict);
  for (const char* words : {"trainer.learning_rate: 1e-06 -> 0.5", "model.threads: 0 -> 7", "config.json changed",
                            "tasks: SHA-256 tasks -> SHA-256 others", "--accept-changes"})
    EXPECT_NE(refused.error().message.find(words), std::string::npos) << words << " in " << refused.error().message;
  EXPECT_EQ(refused.error().message.find("run.updates"), std::string::npos);
}

TEST_F(ResumeCheck, AcceptedChangesAreKeptAndAskedForOnce) {
  config.trainer.learning_rate = 0.5;
  EXPECT_FALSE(check().ok());
  EXPECT_TRUE(check(true).ok());
  EXPECT_TRUE(check().ok());
  EXPECT_NE(files::read(folder.path + "/manifest.json").value().find("trainer.learning_rate"), std::string::npos);
}

TEST_F(ResumeCheck, OtherHarnessAndRewardFilesAreDifferences) {
  ASSERT_TRUE(files::write_atomically(path + "/agent.py", "2").ok());
  fs::remove(path + "/tools/grade.py");
  const auto refused = check();
  ASSERT_FALSE(refused.ok());
  const auto& message = refused.error().message;
  const auto words = cat("harness file agent.py: SHA-256 ", files::sha256("1"), " -> SHA-256 ", files::sha256("2"));
  EXPECT_NE(message.find(words), std::string::npos) << message;
  EXPECT_NE(message.find(cat("harness file tools/grade.py: SHA-256 ", files::sha256("1"), " -> SHA-256 missing")),
            std::string::npos) << message;
  EXPECT_TRUE(check(true).ok());
  EXPECT_TRUE(check().ok());
}

TEST_F(ResumeCheck, WhatTheyImportIsComparedToo) {
  ASSERT_TRUE(files::write_atomically(path + "/agent.py", "import prompts\n").ok());
  ASSERT_TRUE(files::write_atomically(path + "/prompts.py", "1").ok());
  ASSERT_TRUE(check(true).ok());
  ASSERT_TRUE(check().ok());
  ASSERT_TRUE(files::write_atomically(path + "/prompts.py", "2").ok());
  ASSERT_TRUE(files::write_atomically(path + "/other.py", "2").ok());
  const auto changes = changes_of(folder, config, "tasks", "held-out");
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(to_text(changes[0]), cat("harness file prompts.py: SHA-256 ", files::sha256("1"), " -> SHA-256 ",
                                     files::sha256("2")));
  EXPECT_FALSE(changes[0].is_free);
  fs::remove(path + "/prompts.py");
  EXPECT_EQ(to_text(changes_of(folder, config, "tasks", "held-out").at(0)),
            cat("harness file prompts.py: SHA-256 ", files::sha256("1"), " -> not imported"));
}

// Written by a daemon that did not look at what is imported: nothing to compare.
TEST_F(ResumeCheck, AManifestOfBeforeThatListsNoImports) {
  auto manifest = parse_ordered_json(files::read(folder.path + "/manifest.json").value());
  ASSERT_EQ(manifest["harness_files"]["rollouts.reward.python"].erase("imports"), 1U);
  ASSERT_TRUE(files::write_atomically(folder.path + "/manifest.json", json_text(manifest)).ok());
  EXPECT_TRUE(check().ok());
}

TEST_F(ResumeCheck, AManifestOfBeforeThatListsNoHarnessFiles) {
  auto manifest = parse_ordered_json(files::read(folder.path + "/manifest.json").value());
  EXPECT_EQ(manifest["harness_files"].size(), 2U);
  manifest.erase("harness_files");
  ASSERT_TRUE(files::write_atomically(folder.path + "/manifest.json", json_text(manifest)).ok());
  ASSERT_TRUE(files::write_atomically(path + "/agent.py", "2").ok());
  EXPECT_TRUE(check().ok());
}

TEST_F(ResumeCheck, AnotherBuildGoesOnAndIsKept) {
  auto manifest = parse_ordered_json(files::read(folder.path + "/manifest.json").value());
  EXPECT_EQ(manifest["binary_sha256"], binary_sha256());
  manifest["binary_sha256"] = "another";
  ASSERT_TRUE(files::write_atomically(folder.path + "/manifest.json", json_text(manifest)).ok());
  const auto changes = changes_of(folder, config, "tasks", "held-out");
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(to_text(changes[0]), cat("the daemon's own program: SHA-256 another -> SHA-256 ", binary_sha256()));
  EXPECT_TRUE(check().ok());
  EXPECT_TRUE(changes_of(folder, config, "tasks", "held-out").empty());
}

TEST_F(ResumeCheck, ARunWithoutAManifestHasNothingToCompare) {
  fs::remove(folder.path + "/manifest.json");
  config.trainer.learning_rate = 0.5;
  EXPECT_TRUE(check().ok());
}

TEST_F(ResumeCheck, ADamagedManifestIsADifference) {
  ASSERT_TRUE(files::write_atomically(folder.path + "/manifest.json", "{").ok());
  EXPECT_FALSE(check().ok());
}

// A key that is renamed must not leave a name behind that frees nothing.
TEST(FreeKeys, AreKeysOfTheConfig) {
  config::Config config;
  const auto entries = config::entries_of(config);
  for (std::string key : free_keys()) {
    const bool is_section = ends_with(key, ".");
    if (is_section) key.pop_back();
    const auto* entry = config::find(entries, key);
    ASSERT_NE(entry, nullptr) << key;
    EXPECT_EQ(entry->is_section(), is_section) << key;
  }
  EXPECT_EQ(why_free("model.threads"), nullptr);
  EXPECT_EQ(why_free("trainer.learning_rate"), nullptr);
  EXPECT_NE(why_free("metrics.tensorboard"), nullptr);
}
}  // namespace
}  // namespace corisco::app
