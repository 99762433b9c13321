#include "corisco/rollouts/tasks.h"

#include <gtest/gtest.h>

#include <set>

#include "rollouts/temporary_folder.h"

namespace corisco::rollouts {
namespace {
Result<Tasks> load_text(const std::string& text) {
  const TemporaryFolder folder;
  return Tasks::load(folder.write("tasks.jsonl", text), false, 1);
}

std::string error_of(const std::string& text) {
  const auto loaded = load_text(text);
  return loaded.ok() ? "" : loaded.error().message.substr(loaded.error().message.rfind('/') + 1);
}

TEST(Tasks, TakeIdsFromTheFieldOrTheLine) {
  const auto loaded = load_text("{\"id\": \"a\", \"x\": 1}\n{\"x\": 2}\r\n{\"id\": 7}");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const Tasks& tasks = loaded.value();
  ASSERT_EQ(tasks.size(), 3U);
  EXPECT_EQ(tasks.at(0).id, "a");
  EXPECT_EQ(tasks.at(1).id, "2");
  EXPECT_EQ(tasks.at(1).json, "{\"x\": 2}");
  EXPECT_EQ(tasks.at(2).id, "7");
  EXPECT_EQ(tasks.at(3).id, "a") << "the second pass";
}

TEST(Tasks, HaveTheHashOfTheirFile) {
  // printf '{}\n' | sha256sum
  EXPECT_EQ(load_text("{}\n").value().sha256(),
            "ca3d163bab055381827226140568f3bef7eaac187cebd76878e0b63e9e442356");
}

TEST(Tasks, NameTheLineOfWhatIsWrong) {
  EXPECT_EQ(error_of("{\"x\": 1}\n{\"x\": }\n"), "tasks.jsonl:2: a task must be valid JSON");
  EXPECT_EQ(error_of("{\"x\": 1}\n\n{\"x\": 1}\n"), "tasks.jsonl:2: a task must be valid JSON");
  EXPECT_EQ(error_of("[1]\n"), "tasks.jsonl:1: a task must be a JSON object, not a JSON array");
  EXPECT_EQ(error_of("{\"id\": null}"),
            "tasks.jsonl:1: the field \"id\" must be a non-empty string or an integer");
  EXPECT_EQ(error_of("{\"id\": \"a\"}\n{}\n{\"id\": \"a\"}\n"),
            "tasks.jsonl:3: the id \"a\" is that of line 1 too");
  EXPECT_EQ(error_of("{}\n{\"id\": 1}\n"), "tasks.jsonl:2: the id \"1\" is that of line 1 too");
  EXPECT_EQ(error_of(""), "tasks.jsonl: has no tasks");
}

TEST(Tasks, NameTheFileThatIsMissing) {
  const auto loaded = Tasks::load("/nowhere/tasks.jsonl", false, 1);
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().message.find("/nowhere/tasks.jsonl"), std::string::npos);
}

TEST(Tasks, EachPassDrawsEveryTaskOnceInAnOrderOfItsOwn) {
  std::vector<Task> all;
  for (int i = 0; i < 50; ++i) all.push_back({std::to_string(i), "{}"});
  const Tasks tasks = Tasks::of(all, true, 3);
  const Tasks again = Tasks::of(all, true, 3);
  const Tasks other = Tasks::of(all, true, 4);
  std::vector<std::vector<std::string>> passes(3);
  for (std::uint64_t pass = 0; pass < 3; ++pass) {
    for (std::uint64_t i = 0; i < 50; ++i) passes[pass].push_back(tasks.at(pass * 50 + i).id);
    EXPECT_EQ(std::set<std::string>(passes[pass].begin(), passes[pass].end()).size(), 50U);
  }
  EXPECT_NE(passes[0], passes[1]);
  EXPECT_NE(passes[1], passes[2]);
  // A pure function of the occurrence: asked backwards, from another object.
  bool differs_by_seed = false;
  for (std::uint64_t i = 150; i-- > 0;) {
    EXPECT_EQ(again.at(i).id, passes[i / 50][i % 50]);
    differs_by_seed = differs_by_seed || other.at(i).id != again.at(i).id;
  }
  EXPECT_TRUE(differs_by_seed);
}
}  // namespace
}  // namespace corisco::rollouts
