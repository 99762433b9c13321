// Rollouts that wait for harnesses elsewhere, and how those read that ask for them.
#include "rollouts/controller_fixture.h"
#include "rollouts/finished_log.h"

namespace corisco::rollouts {
namespace {
RolloutStatus ended(std::uint64_t rollout, const std::string& task = "{}") {
  RolloutStatus status;
  status.attempt = {RolloutId{rollout}, 1};
  status.state = RolloutState::finished;
  status.task_json = task;
  return status;
}

TEST(FinishedLog, KeepsTheLastEndsUnderTheirNumbers) {
  FinishedLog log({2, 1000});
  for (const std::uint64_t rollout : {5, 3, 4}) log.add(ended(rollout));
  EXPECT_EQ(log.find({RolloutId{5}, 1}), nullptr);
  ASSERT_NE(log.find({RolloutId{3}, 1}), nullptr);
  auto page = log.page(0, 1);
  ASSERT_EQ(page.items.size(), 1U);
  EXPECT_EQ(page.items[0].attempt.rollout.value, 3U);
  EXPECT_EQ(page.next_after, 2U);
  EXPECT_EQ(page.total, 3U);
  log.forget({RolloutId{4}, 1});
  page = log.page(page.next_after, 10);
  EXPECT_TRUE(page.items.empty());
  EXPECT_EQ(page.next_after, 3U) << "a forgotten end keeps its number";
  EXPECT_EQ(log.page(9, 10).next_after, 3U);
}

TEST(FinishedLog, IsBoundedByItsTexts) {
  FinishedLog log({100, 50});
  for (const std::uint64_t rollout : {1, 2, 3}) log.add(ended(rollout, std::string(20, 'x')));
  EXPECT_EQ(log.find({RolloutId{1}, 1}), nullptr);
  EXPECT_NE(log.find({RolloutId{2}, 1}), nullptr);
  log.forget({RolloutId{2}, 1});
  log.add(ended(4, std::string(20, 'x')));
  EXPECT_NE(log.find({RolloutId{3}, 1}), nullptr) << "what was forgotten makes room";
  log.add(ended(5, std::string(500, 'x')));
  EXPECT_NE(log.find({RolloutId{5}, 1}), nullptr) << "the last one is always there";
}

struct ExternalRolloutsTest : ControllerFixture {
  AttemptKey open_waiting() {
    const auto attempt = controller().open_waiting(R"({"id": "mine"})");
    EXPECT_TRUE(attempt.ok());
    return attempt.value();
  }
};

TEST_F(ExternalRolloutsTest, ACallersOwnWaitsWithoutATimeLimit) {
  const auto attempt = open_waiting();
  auto status = controller().look(attempt);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->state, RolloutState::queued);
  EXPECT_EQ(status->mode, Mode::val);
  EXPECT_FALSE(status->is_of_run);
  EXPECT_EQ(status->task_json, R"({"id": "mine"})");
  pass(1000);
  EXPECT_TRUE(finished.empty() && fake.started.empty());
  EXPECT_TRUE(controller().start_waiting(attempt).ok());
  EXPECT_EQ(controller().start_waiting(attempt).error().code, Code::conflict);
  status = controller().look(attempt);
  EXPECT_EQ(status->state, RolloutState::running);
  EXPECT_DOUBLE_EQ(status->changed_unix_seconds - status->opened_unix_seconds, 1000);
  EXPECT_TRUE(controller().post_reward(attempt, 0.5, "").ok());
  EXPECT_TRUE(controller().finish_external(attempt).ok());
  status = controller().look(attempt);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->outcome, Outcome::completed);
  EXPECT_EQ(status->reward, 0.5);
  EXPECT_EQ(controller().finished_external(0, 10).items.size(), 1U);
  EXPECT_TRUE(controller().open_external_rollouts().empty());
}

TEST_F(ExternalRolloutsTest, ItIsNobodyElsesToTake) {
  config.rollouts.harness.external = true;
  const auto attempt = open_waiting();
  EXPECT_EQ(controller().take_waiting().error().code, Code::conflict);
  open_group();
  const auto open = controller().open_external_rollouts();
  ASSERT_EQ(open.size(), 3U);
  EXPECT_EQ(open[0].attempt, attempt);
  EXPECT_TRUE(open[1].is_of_run);
  EXPECT_TRUE(controller().start_waiting(key(3)).ok()) << "the run's can be started by number";
  EXPECT_EQ(controller().take_waiting().value().attempt, key(2));
}

TEST_F(ExternalRolloutsTest, TheDaemonsOwnHarnessesAreNotToBeStartedElsewhere) {
  config.rollouts.processes_max = 1;
  open_group();
  EXPECT_EQ(controller().start_waiting(key(2)).error().code, Code::conflict) << "it waits for a process";
  EXPECT_FALSE(controller().look(key(2)));
  EXPECT_TRUE(controller().open_external_rollouts().empty());
}

TEST_F(ExternalRolloutsTest, AFailureElsewhereIsACrashAfterACallAndInfrastructureBefore) {
  const auto first = open_waiting(), second = open_waiting();
  EXPECT_EQ(controller().fail_external(first, "exit 1").error().code, Code::conflict);
  EXPECT_TRUE(controller().start_waiting(first).ok() && controller().start_waiting(second).ok());
  EXPECT_TRUE(controller().fail_external(first, "exit 1").ok());
  EXPECT_EQ(controller().look(first)->outcome, Outcome::harness_crashed);
  EXPECT_EQ(controller().look(first)->reward, -1) << "the minimum";
  summary = {};
  EXPECT_TRUE(controller().fail_external(second, "no such agent").ok());
  const auto status = controller().look(second);
  EXPECT_EQ(status->outcome, Outcome::spawn_failed);
  EXPECT_EQ(status->reward, std::nullopt);
  EXPECT_NE(status->note.find("no such agent"), std::string::npos);
}

TEST_F(ExternalRolloutsTest, CallersFailuresNeverStopTheRun) {
  config.rollouts.infrastructure_failures_max = 2;
  summary = {};
  for (int i = 0; i < 5; ++i) {
    const auto attempt = open_waiting();
    EXPECT_TRUE(controller().start_waiting(attempt).ok());
    EXPECT_TRUE(controller().fail_external(attempt, "no").ok());
  }
  pass();
  EXPECT_TRUE(broken.empty());
}

TEST_F(ExternalRolloutsTest, ARetriedAttemptHasEndedAndTheNextOneWaits) {
  config.rollouts.harness.external = true;
  config.rollouts.group_size = 1;
  open_group();
  summary = {};
  EXPECT_TRUE(controller().start_waiting(key(1)).ok());
  EXPECT_TRUE(controller().fail_external(key(1), "lost").ok());
  EXPECT_EQ(controller().look(key(1))->outcome, Outcome::spawn_failed);
  const auto next = controller().look(key(1, 2));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->state, RolloutState::queued);
  EXPECT_TRUE(controller().start_waiting(key(1, 2)).ok());
}

TEST_F(ExternalRolloutsTest, DroppingEndsACallersOwnAndForgetsIt) {
  const auto queued = open_waiting(), running = open_waiting();
  EXPECT_TRUE(controller().start_waiting(running).ok());
  EXPECT_TRUE(controller().drop_external(queued).ok());
  EXPECT_TRUE(controller().drop_external(running).ok());
  EXPECT_FALSE(controller().look(queued) || controller().look(running));
  ASSERT_EQ(finished.size(), 2U);
  EXPECT_EQ(finished[1].outcome, Outcome::cancelled);
  EXPECT_EQ(closed, std::vector{running});
  EXPECT_TRUE(controller().drop_external(running).ok()) << "again";
  config.rollouts.harness.external = true;
  open_group();
  EXPECT_EQ(controller().drop_external(key(3)).error().code, Code::conflict) << "its siblings need it";
}
}  // namespace
}  // namespace corisco::rollouts
