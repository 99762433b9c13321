#include "corisco/rollouts/controller.h"

#include <sys/stat.h>

#include <limits>

#include "rollouts/controller_fixture.h"

namespace corisco::rollouts {
namespace {
using How = ProcessEnd::How;
using ControllerTest = ControllerFixture;

TEST_F(ControllerTest, OpensGroupsAndStartsTheOldestFirst) {
  controller().set_next_ids(40, 7);
  open_group(3);
  open_group(4);
  EXPECT_EQ(groups, (std::vector<std::string>{"8:3x2", "9:4x2"}));
  ASSERT_EQ(opened.size(), 4U);
  EXPECT_EQ(opened[3].id, RolloutId{44});
  EXPECT_EQ(opened[3].sibling, 1U);
  EXPECT_EQ(opened[3].task_occurrence, 4U);
  EXPECT_EQ(controller().num_open(), 4U);
  EXPECT_EQ(controller().num_running(), 2U);
  ASSERT_EQ(fake.started.size(), 2U);
  EXPECT_EQ(fake.started[0].attempt, key(41));
  EXPECT_EQ(fake.started[1].attempt, key(42));
  end_with_reward(42, "1");
  ASSERT_EQ(fake.started.size(), 3U);
  EXPECT_EQ(fake.started[2].attempt, key(43));
}

// Rollout 40 had made one attempt, with salt 0, and rollout 41 two, the second with salt 77; sibling 2 was
// never opened.
TEST_F(ControllerTest, GoesOnWithWhatAnEarlierLifeLeftOpen) {
  config.rollouts.group_size = 4;
  config.rollouts.processes_max = 9;
  config.rollouts.attempts_max = 2;
  controller().set_next_ids(60, 9);
  const auto spec = [](std::uint64_t id, std::uint32_t sibling) {
    return RolloutSpec{RolloutId{id}, GroupId{5}, 3, sibling, Mode::train, "t", R"({"text": "hi"})"};
  };
  Controller::Unfinished left{GroupId{5}, 3, {{spec(40, 0), 2, 0}, {spec(41, 1), 3, 77}}, {2}};
  ASSERT_TRUE(controller().reopen_group({"t", R"({"text": "hi"})"}, left).ok());
  pass();
  EXPECT_TRUE(groups.empty());
  EXPECT_EQ(reopened, (std::vector<std::pair<RolloutId, std::uint32_t>>{{RolloutId{40}, 1}, {RolloutId{41}, 2}}));
  ASSERT_EQ(opened.size(), 1U);
  EXPECT_EQ(opened[0].id, RolloutId{61});
  EXPECT_EQ(opened[0].sibling, 2U);
  EXPECT_EQ(opened[0].task_occurrence, 3U);
  ASSERT_EQ(fake.started.size(), 3U);
  EXPECT_EQ(fake.started[0].attempt, key(40, 2));
  EXPECT_EQ(fake.started[1].attempt, key(41, 3));
  EXPECT_EQ(salts, (std::vector<std::uint64_t>{0, 77, 0}));
  // The attempts of earlier lives are no tries: of two, a first one that fails is followed by another.
  summary.num_calls = summary.num_delivered = 0;
  end(41, 3, 1);
  EXPECT_TRUE(finished.empty());
  EXPECT_EQ(fake.started.back().attempt, key(41, 4));
  EXPECT_NE(salts.back(), 77U);
  end(41, 4, 1);
  ASSERT_EQ(finished.size(), 1U);
  EXPECT_EQ(finished[0].outcome, Outcome::spawn_failed);
}

TEST_F(ControllerTest, GivesTheHarnessItsContract) {
  config.rollouts.harness.env["TASK_TEXT"] = "<{task.text}> {attempt} {work_folder}";
  open_group();
  const Launch& launch = fake.started.at(0);
  EXPECT_EQ(launch.argv, (std::vector<std::string>{"agent", "hi", "/configs/recipe"}));
  EXPECT_EQ(launch.env.at("OPENAI_BASE_URL"), "http://h:1/rollout/1/attempt/1/v1");
  EXPECT_EQ(launch.env.at("OPENAI_API_KEY"), "key-1-1");
  EXPECT_EQ(launch.env.at("TASK_TEXT"), "<hi> 1 " + launch.work_folder);
  EXPECT_EQ(content_of(launch.env.at("CORISCO_TASK")), R"({"text": "hi"})");
  struct stat status {};
  ASSERT_EQ(::stat(launch.env.at("CORISCO_TASK").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  ASSERT_EQ(::stat(launch.work_folder.c_str(), &status), 0);
  EXPECT_TRUE(S_ISDIR(status.st_mode));
}

TEST_F(ControllerTest, FinishesWithTheRewardFilesValue) {
  open_group();
  clock.advance(std::chrono::seconds(5));
  summary.held_seconds = 2;
  end_with_reward(1, "0.5\n");
  ASSERT_EQ(finished.size(), 1U);
  EXPECT_EQ(finished[0].outcome, Outcome::completed);
  EXPECT_EQ(finished[0].reward, 0.5);
  EXPECT_DOUBLE_EQ(finished[0].seconds, 3);
  EXPECT_EQ(finished[0].spec.task_json, R"({"text": "hi"})");
  EXPECT_EQ(closed, std::vector<AttemptKey>{key(1)});
  EXPECT_FALSE(std::filesystem::exists(files(1).work_folder));
  EXPECT_EQ(metrics.counter("corisco_rollouts_finished_total", {"train", "completed"}).value(), 1);
}

TEST_F(ControllerTest, AMissingOrRefusedRewardIsTheMinimumByItsName) {
  open_group();
  end(1);
  end_with_reward(2, "nan");
  ASSERT_EQ(finished.size(), 2U);
  EXPECT_EQ(finished[0].outcome, Outcome::no_reward);
  EXPECT_EQ(finished[0].reward, -1);
  EXPECT_NE(finished[0].reward_note.find("no reward file"), std::string::npos);
  EXPECT_EQ(finished[1].outcome, Outcome::grader_failed);
  EXPECT_EQ(finished[1].reward, -1);
  EXPECT_NE(finished[1].reward_note.find("nan"), std::string::npos);
}

TEST_F(ControllerTest, ACrashAfterACallIsGradedToo) {
  open_group();
  end_with_reward(1, "0.25", 3);
  summary.hit_cap = true;
  end(2, 1, 1);
  ASSERT_EQ(finished.size(), 2U);
  EXPECT_EQ(finished[0].outcome, Outcome::harness_crashed);
  EXPECT_EQ(finished[0].reward, 0.25);
  EXPECT_EQ(finished[1].outcome, Outcome::no_reward);
}

TEST_F(ControllerTest, RunningTooLongEndsWithoutHeldTime) {
  config.rollouts.group_size = 1;
  open_group();
  summary.held_seconds = 5;
  pass(14);
  EXPECT_TRUE(fake.killed.empty());
  pass(2);
  ASSERT_EQ(fake.killed.size(), 1U);
  EXPECT_EQ(fake.killed[0].first, key(1));
  EXPECT_GT(fake.killed[0].second, 0U);
  EXPECT_EQ(closed.size(), 1U) << "its key is void from the kill on";
  pass(2);
  EXPECT_EQ(fake.killed.size(), 1U);
  fake.end(key(1), How::killed, 15);
  pass();
  ASSERT_EQ(finished.size(), 1U);
  EXPECT_EQ(finished[0].outcome, Outcome::timed_out);
  EXPECT_EQ(finished[0].reward, -1);
  EXPECT_EQ(closed.size(), 1U);
}

TEST_F(ControllerTest, InfrastructureFailuresAreTriedAgainWithANewSalt) {
  config.rollouts.group_size = 1;
  summary = {};
  open_group();
  end(1, 1, 1);
  EXPECT_TRUE(finished.empty());
  ASSERT_TRUE(fake.running.contains(key(1, 2)));
  EXPECT_EQ(fake.started[1].env.at("OPENAI_API_KEY"), "key-1-2");
  fake.end(key(1, 2), How::not_started, 0, "no such program");
  pass();
  folder.write("rollouts/1/attempt-3/output.txt", "first\nTraceback: boom\n");
  end(1, 3, 1);
  ASSERT_EQ(finished.size(), 1U);
  EXPECT_EQ(finished[0].attempt, 3U);
  EXPECT_EQ(finished[0].outcome, Outcome::spawn_failed);
  EXPECT_FALSE(finished[0].reward);
  EXPECT_NE(finished[0].reward_note.find("Traceback: boom"), std::string::npos);
  ASSERT_EQ(salts.size(), 3U);
  EXPECT_EQ(salts[0], 0U);
  EXPECT_NE(salts[1], 0U);
  EXPECT_NE(salts[1], salts[2]);
  EXPECT_EQ(metrics.counter("corisco_rollouts_retried_total").value(), 2);
}

TEST_F(ControllerTest, TheRetryOfAnOldRolloutGoesBeforeYoungerOnes) {
  config.rollouts.processes_max = 1;
  open_group();
  summary.saw_engine_error = true;
  end(1, 1, 1);
  EXPECT_TRUE(fake.running.contains(key(1, 2)));
  EXPECT_FALSE(fake.running.contains(key(2)));
}

TEST_F(ControllerTest, TooManyInfrastructureFailuresInARowAreReportedOnce) {
  config.rollouts.infrastructure_failures_max = 3;
  config.rollouts.attempts_max = 2;
  summary = {};
  open_group();
  end(1, 1, 1);
  end(2, 1, 1);
  EXPECT_TRUE(broken.empty());
  folder.write("rollouts/1/attempt-2/output.txt", "boom\n");
  end(1, 2, 1);
  end(2, 2, 1);
  ASSERT_EQ(broken.size(), 1U);
  EXPECT_NE(broken[0].find("3 attempts in a row"), std::string::npos);
  EXPECT_NE(broken[0].find("boom"), std::string::npos);
}

TEST_F(ControllerTest, AGoodEndStartsTheCountAgain) {
  config.rollouts.infrastructure_failures_max = 2;
  config.rollouts.attempts_max = 1;
  for (int i = 0; i < 3; ++i) open_group();
  for (std::uint64_t rollout = 1; rollout <= 6; ++rollout) {
    summary.num_delivered = rollout % 2;
    end(rollout);
  }
  EXPECT_EQ(finished.size(), 6U);
  EXPECT_TRUE(broken.empty());
}

TEST_F(ControllerTest, APythonRewardSeesTheTaskAndTheRollout) {
  config.rollouts.reward.source = "python";
  config.rollouts.reward.python = "/r.py:grade";
  open_group();
  folder.write("rollouts/1/attempt-1/output.txt", "said \"so\"\xff\n");
  end(1);
  EXPECT_EQ(controller().num_running(), 1U);
  ASSERT_TRUE(fake.running.contains(key(1)));
  const Launch& grader = fake.running[key(1)].launch;
  EXPECT_EQ(grader.python_function, "/r.py:grade");
  EXPECT_EQ(grader.python_argument_json,
            cat(R"([{"text": "hi"},{"calls":[{"turn":0}],"outcome":"completed",)",
                "\"output\":\"said \\\"so\\\"\xEF\xBF\xBD\\n\",\"work_folder\":\"",
                files(1).work_folder, "\"}]"));
  EXPECT_FALSE(grader.env.contains("OPENAI_API_KEY"));
  folder.write("rollouts/1/attempt-1/result.json", R"({"ok": true, "value": [0.75, "fine"], "shown": ""})");
  end(1);
  ASSERT_EQ(finished.size(), 1U);
  EXPECT_EQ(finished[0].reward, 0.75);
  EXPECT_EQ(finished[0].reward_note, "fine");
  EXPECT_FALSE(std::filesystem::exists(files(1).result_file));
}

TEST_F(ControllerTest, AGradeComesFromAGraderThatEndedWell) {
  config.rollouts.reward.source = "python";
  open_group();
  folder.write("rollouts/1/attempt-1/result.json", R"({"ok": true, "value": 1, "shown": ""})");
  end(1);                              // what the harness returned is no grade
  end(1, 1, 9);
  folder.write("rollouts/2/attempt-1/result.json", "");
  end(2);
  folder.write("rollouts/2/attempt-1/result.json", R"({"ok": true, "value": 1, "shown": ""})");
  end(2, 1, 9);                        // nor what stands there when the grader fails
  ASSERT_EQ(finished.size(), 2U);
  for (const auto& rollout : finished) EXPECT_EQ(rollout.outcome, Outcome::grader_failed);
}

TEST_F(ControllerTest, AGraderThatTakesTooLongFailed) {
  config.rollouts.reward.source = "python";
  config.rollouts.reward.seconds_max = 5;
  open_group();
  end(1);
  pass(6);
  ASSERT_EQ(fake.killed.size(), 1U);
  fake.end(key(1), How::killed, 9);
  pass();
  EXPECT_EQ(finished.at(0).outcome, Outcome::grader_failed);
  EXPECT_NE(finished.at(0).reward_note.find("more than 5 s"), std::string::npos);
}

TEST_F(ControllerTest, AGraderThatFailsOnTheFirstEightIsBroken) {
  config.rollouts.reward.source = "python";
  config.rollouts.group_size = config.rollouts.processes_max = 10;
  open_group();
  for (std::uint64_t rollout = 1; rollout <= 10; ++rollout) {
    EXPECT_EQ(broken.size(), rollout > 8 ? 1U : 0U);
    end(rollout);
    folder.write(cat("rollouts/", rollout, "/attempt-1/result.json"),
                 R"({"ok": false, "error": "Traceback: KeyError"})");
    end(rollout, 1, 1);
  }
  ASSERT_EQ(finished.size(), 10U);
  EXPECT_EQ(finished[0].outcome, Outcome::grader_failed);
  EXPECT_NE(broken.at(0).find("Traceback: KeyError"), std::string::npos);
}

TEST_F(ControllerTest, AGraderThatCannotStartIsInfrastructure) {
  config.rollouts.reward.source = "python";
  config.rollouts.attempts_max = 1;
  open_group();
  end(1);
  fake.end(key(1), How::not_started, 0, "the interpreter is gone");
  pass();
  EXPECT_EQ(finished.at(0).outcome, Outcome::grader_broken);
  EXPECT_FALSE(finished.at(0).reward);
}

TEST_F(ControllerTest, ARewardCommandPrintsTheRewardLast) {
  config.rollouts.reward.source = "command";
  config.rollouts.reward.command = {"grade", "{task.text}"};
  open_group();
  end(1);
  end(2);
  EXPECT_EQ(fake.running[key(1)].launch.argv, (std::vector<std::string>{"grade", "hi"}));
  const auto seen = content_of(fake.running[key(1)].launch.env.at("CORISCO_ROLLOUT"));
  EXPECT_NE(seen.find("\"calls\":[{\"turn\":0}]"), std::string::npos) << seen;
  folder.write("rollouts/1/attempt-1/grader.txt", "checking...\n0.5\n");
  folder.write("rollouts/2/attempt-1/grader.txt", "cannot open\n");
  end(1);
  end(2, 1, 2);
  ASSERT_EQ(finished.size(), 2U);
  EXPECT_EQ(finished[0].reward, 0.5);
  EXPECT_EQ(finished[1].outcome, Outcome::grader_failed);
  EXPECT_NE(finished[1].reward_note.find("exit status 2; its last output:\ncannot open"), std::string::npos);
}

TEST_F(ControllerTest, PostedRewardsCountOnceWhileItRuns) {
  config.rollouts.reward.source = "event";
  open_group();
  EXPECT_EQ(controller().post_reward(key(1), std::numeric_limits<double>::infinity(), "").error().code,
            Code::invalid_argument);
  EXPECT_TRUE(controller().post_reward(key(1), 0.5, "note").ok());
  EXPECT_EQ(controller().post_reward(key(1), 1, "").error().code, Code::conflict);
  EXPECT_EQ(controller().post_reward(key(9), 1, "").error().code, Code::conflict);
  end(1);
  EXPECT_EQ(controller().post_reward(key(1), 1, "").error().code, Code::conflict);
  end(2);
  EXPECT_EQ(finished.at(0).reward, 0.5);
  EXPECT_EQ(finished.at(0).reward_note, "note");
  EXPECT_EQ(finished.at(1).outcome, Outcome::no_reward);
}

TEST_F(ControllerTest, APostedRewardIsRefusedWhereAFileIsExpected) {
  open_group();
  const auto posted = controller().post_reward(key(1), 1, "");
  ASSERT_FALSE(posted.ok());
  EXPECT_NE(posted.error().message.find("rollouts.reward.source is file"), std::string::npos);
}

TEST_F(ControllerTest, RolloutsOfAnotherTaskRunElsewhereForValidation) {
  EXPECT_FALSE(controller().open_external("[]").ok());
  const auto first = controller().open_external(R"({"id": "mine"})"), second = controller().open_external("{}");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first.value().key, "key-1-1");
  EXPECT_EQ(opened[0].task_id, "mine");
  EXPECT_EQ(opened[0].mode, Mode::val);
  EXPECT_TRUE(groups.empty() && fake.started.empty());
  EXPECT_TRUE(controller().post_reward(first.value().attempt, 1, "").ok());
  EXPECT_TRUE(controller().finish_external(first.value().attempt).ok());
  EXPECT_EQ(controller().finish_external(first.value().attempt).error().code, Code::conflict);
  pass(11);
  ASSERT_EQ(finished.size(), 2U);
  EXPECT_EQ(finished[0].reward, 1);
  EXPECT_EQ(finished[1].outcome, Outcome::timed_out);
  EXPECT_EQ(finished[1].reward, -1);
}

TEST_F(ControllerTest, ExternalHarnessesTakeTheRolloutsThatWait) {
  EXPECT_EQ(controller().take_waiting().error().code, Code::conflict) << "the daemon starts harnesses here";
  config.rollouts.harness.external = true;
  config.rollouts.group_size = 2;
  open_group();
  EXPECT_TRUE(fake.started.empty());
  pass(100);
  EXPECT_TRUE(finished.empty()) << "waiting takes no time";
  const auto first = controller().take_waiting(), second = controller().take_waiting();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(controller().take_waiting().error().code, Code::conflict);
  EXPECT_EQ(first.value().attempt, key(1));
  EXPECT_EQ(first.value().mode, Mode::train);
  EXPECT_EQ(first.value().task_json, R"({"text": "hi"})");
  EXPECT_EQ(second.value().attempt, key(2));
  EXPECT_TRUE(controller().post_reward(key(1), 1, "").ok());
  EXPECT_TRUE(controller().finish_external(key(1)).ok());
  ASSERT_EQ(finished.size(), 1U);
  summary = {};                        // the other one never makes a call
  pass(11);
  EXPECT_EQ(finished.size(), 1U) << "it waits again";
  const auto again = controller().take_waiting();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again.value().attempt, key(2, 2));
}

TEST_F(ControllerTest, ValidationRolloutsBelongToNoGroup) {
  ASSERT_TRUE(controller().open_validation({"t", R"({"text": "hi"})"}, 5, 2).ok());
  pass();
  EXPECT_EQ(opened.at(0).mode, Mode::val);
  EXPECT_EQ(opened.at(0).sibling, 2U);
  end_with_reward(1, "true");
  EXPECT_EQ(finished.at(0).reward, 1);
}

TEST_F(ControllerTest, ATemplateThatCannotBeFilledIsNotStarted) {
  config.rollouts.harness.command = {"agent", "{task.missing}"};
  config.rollouts.attempts_max = config.rollouts.group_size = 1;
  open_group();
  EXPECT_EQ(finished.at(0).outcome, Outcome::spawn_failed);
  EXPECT_NE(finished.at(0).reward_note.find("no field \"missing\""), std::string::npos);
}

TEST_F(ControllerTest, StoppingCancelsEverythingAndSaysWhenAllIsGone) {
  config.rollouts.group_size = 3;
  open_group();
  bool is_done = false;
  controller().stop([&] { is_done = true; });
  pass();
  EXPECT_EQ(finished.size(), 1U) << "the queued one";
  EXPECT_EQ(fake.killed.size(), 2U);
  EXPECT_FALSE(controller().open_group({"t", "{}"}, 1).ok());
  fake.end(key(1), How::killed, 15);
  pass();
  EXPECT_FALSE(is_done);
  fake.end(key(2), How::killed, 15);
  pass();
  EXPECT_TRUE(is_done);
  ASSERT_EQ(finished.size(), 3U);
  for (const auto& rollout : finished) EXPECT_EQ(rollout.outcome, Outcome::cancelled);
  EXPECT_EQ(controller().num_open(), 0U);
}

TEST_F(ControllerTest, StoppingEndsGradersToo) {
  config.rollouts.reward.source = "python";
  config.rollouts.group_size = 1;
  open_group();
  end(1);
  bool is_done = false;
  controller().stop([&] { is_done = true; });
  pass();
  EXPECT_EQ(fake.killed.size(), 1U);
  fake.end(key(1), How::killed, 15);
  pass();
  EXPECT_TRUE(is_done);
  EXPECT_EQ(finished.at(0).outcome, Outcome::cancelled);
}

TEST_F(ControllerTest, StoppingFromTheReportOfABrokenHarnessWorks) {
  config.rollouts.infrastructure_failures_max = 1;
  summary = {};
  bool is_done = false;
  ControllerParts given = parts();
  std::unique_ptr<Controller> own;
  given.ports.on_broken = [&](const std::string&) { own->stop([&] { is_done = true; }); };
  own = std::make_unique<Controller>(given);
  ASSERT_TRUE(own->open_group({"t", R"({"text": "hi"})"}, 0).ok());
  pass();
  fake.end(key(1), How::exited, 1);
  pass();
  while (!fake.running.empty()) fake.end(fake.running.begin()->first, How::killed, 15);
  pass();
  EXPECT_TRUE(is_done);
  EXPECT_EQ(own->num_open(), 0U);
}
}  // namespace
}  // namespace corisco::rollouts
