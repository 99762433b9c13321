// Controller and spawner together: real harness processes, from opening a group to its rewards.
#include <gtest/gtest.h>

#include "corisco/rollouts/spawner.h"
#include "rollouts/controller_fixture.h"
#include "rollouts/spawner_fixture.h"

namespace corisco::rollouts {
namespace {
class RolloutTest : public ControllerFixture {
 protected:
  void run(const std::vector<std::string>& preload) {
    SpawnerDriver driver(python_options(preload));
    sandbox = &driver.spawner();
    Controller own([&] {
      ControllerParts given = parts();
      given.io = &driver.io();
      given.clock = &real_clock();
      return given;
    }());
    ASSERT_TRUE(own.open_group({"t", R"({"id": "t", "text": "it's"})"}, 0).ok());
    for (int i = 0; i < 1000 && finished.size() < 2; ++i) {
      driver.io().run_for(std::chrono::milliseconds(20));
      driver.io().restart();
    }
  }
};

TEST_F(RolloutTest, ACommandGradedByAPythonFunction) {
  const auto reward = folder.write("reward.py",
      "def grade(task, rollout):\n"
      "    words = rollout['output'].split()\n"
      "    return words == [task['text'], rollout['calls'][0]['turn'] == 0 and '1'], rollout['outcome']\n");
  config.rollouts.harness.command = {"sh", "-c", "echo \"$1\" $2; touch made", "sh",
                                     "{task.text}", "{attempt}"};
  config.rollouts.reward.source = "python";
  config.rollouts.reward.python = reward + ":grade";
  run({reward + ":grade"});
  ASSERT_EQ(finished.size(), 2U);
  for (const auto& rollout : finished) {
    EXPECT_EQ(rollout.outcome, Outcome::completed) << rollout.reward_note;
    EXPECT_EQ(rollout.reward, 1);
    EXPECT_EQ(rollout.reward_note, "completed");
  }
  EXPECT_TRUE(std::filesystem::exists(files(1).work_folder + "/made"));
}

TEST_F(RolloutTest, APythonHarnessThatWritesARewardFile) {
  const auto harness = folder.write("harness.py",
      "import os\n"
      "def run(task):\n"
      "    assert os.environ['OPENAI_API_KEY'].startswith('key-')\n"
      "    with open(os.environ['CORISCO_REWARD_FILE'], 'w') as file:\n"
      "        file.write('%f' % (len(task['text']) / 8))\n");
  config.rollouts.harness.python = harness + ":run";
  run({harness + ":run"});
  ASSERT_EQ(finished.size(), 2U);
  for (const auto& rollout : finished) EXPECT_EQ(rollout.reward, 0.5) << rollout.reward_note;
}

TEST_F(RolloutTest, ARewardCommandJudgesTheWorkFolder) {
  config.rollouts.harness.command = {"sh", "-c", "echo 0.125 >answer; exit 1"};
  config.rollouts.reward.source = "command";
  config.rollouts.reward.command = {"sh", "-c", "echo looking; cat answer"};
  run({});
  ASSERT_EQ(finished.size(), 2U);
  for (const auto& rollout : finished) {
    EXPECT_EQ(rollout.outcome, Outcome::harness_crashed);
    EXPECT_EQ(rollout.reward, 0.125);
  }
}
}  // namespace
}  // namespace corisco::rollouts
