// The parts of the app that need no daemon: what a person reads, and what a run leaves in its folder.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <thread>

#include "app/evaluation.h"
#include "app/progress.h"
#include "app/run_folder.h"
#include "app/train_batch.h"
#include "corisco/base/files.h"
#include "corisco/base/log.h"

namespace corisco::app {
namespace {
namespace fs = std::filesystem;

struct Folder {
  Folder() {
    char name[] = "/tmp/corisco-app-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~Folder() { fs::remove_all(path); }
  std::string path;
};

TEST(DurationText, ReadsLikeAClock) {
  EXPECT_EQ(duration_text(0.4), "0 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(65), "1 min 05 s");
  EXPECT_EQ(duration_text(3600), "60 min 00 s");
}

TEST(UpdateLine, NamesWhatAPersonAsksFor) {
  UpdateLine line{3, 60, {}, {4.25, 0.5, 9, 0.25}, 250.4, 123};
  line.report.policy_version = PolicyVersion{3};
  line.report.reward_mean = 0.3125;
  line.report.num_groups = 8;
  line.report.num_constant_groups = 2;
  EXPECT_EQ(to_text(line),
            "update 3/60  version 3  reward 0.312  groups 8 (2 constant)  250 tokens/s  generating 4.2 s  "
            "draining 0.5 s  training 9.2 s  left 2 min 03 s");
}

TEST(Progress, EstimatesTheTimeLeftFromTheUpdatesSoFar) {
  Progress progress(10);
  const auto line = progress.update_done(4, {}, {1, 1, 7, 1}, 500);
  EXPECT_DOUBLE_EQ(line.seconds_left, 60);
  EXPECT_DOUBLE_EQ(line.tokens_per_second, 50);
  const auto next = progress.update_done(5, {}, {11, 1, 7, 1}, 900);
  EXPECT_DOUBLE_EQ(next.seconds_left, 5 * (0.7 * 10 + 0.3 * 20));
  EXPECT_DOUBLE_EQ(next.tokens_per_second, 20);
}

TEST(RunFolder, IsNumberedUnlessResumed) {
  Folder scratch;
  config::Run run;
  run.folder = scratch.path;
  run.name = "trial";
  EXPECT_EQ(open_run_folder(run, true).error().code, Code::not_found);
  EXPECT_EQ(open_run_folder(run, false).value().name, "trial");
  EXPECT_EQ(open_run_folder(run, false).value().name, "trial-2");
  EXPECT_EQ(open_run_folder(run, false).value().name, "trial-3");
  const auto resumed = open_run_folder(run, true).value();
  EXPECT_EQ(resumed.name, "trial-3");
  EXPECT_TRUE(resumed.is_resumed);
  EXPECT_TRUE(fs::exists(resumed.checkpoints()));
}

TEST(RunFolder, AGapIsNotFilledSoThatTheHighestNumberIsTheNewest) {
  Folder scratch;
  config::Run run;
  run.folder = scratch.path;
  run.name = "trial";
  for (const auto* other : {"trial", "trial-3", "trial-eval", "trial-12x", "trial-04", "trial--7", "other-9"})
    fs::create_directory(fs::path(scratch.path) / other);
  EXPECT_EQ(newest_run_folder(run).value(), scratch.path + "/trial-3");
  EXPECT_EQ(open_run_folder(run, true).value().name, "trial-3");
  EXPECT_EQ(open_run_folder(run, false).value().name, "trial-4");
}

TEST(RunFolder, OfAFailedStartIsRemovedUnlessItWasThereBefore) {
  Folder scratch;
  config::Run run;
  run.folder = scratch.path;
  run.name = "trial";
  const auto made = open_run_folder(run, false).value();
  const auto resumed = open_run_folder(run, true).value();
  remove_unused(resumed);
  remove_unused({});
  EXPECT_TRUE(fs::exists(made.path));
  remove_unused(made);
  EXPECT_FALSE(fs::exists(made.path));
  EXPECT_TRUE(fs::exists(scratch.path));
}

TEST(RunFolder, DaemonsThatBeginAtOnceHaveOneEach) {
  Folder scratch;
  config::Run run;
  run.folder = scratch.path;
  run.name = "trial";
  std::vector<std::string> names(8);
  {
    std::vector<std::jthread> daemons;
    for (auto& name : names) daemons.emplace_back([&] { name = open_run_folder(run, false).value().name; });
  }
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
}

FinishedRollout finished(std::uint64_t id, Outcome outcome, std::optional<double> reward, const char* task) {
  FinishedRollout rollout;
  rollout.spec.id = RolloutId{id};
  rollout.spec.task_json = task;
  rollout.outcome = outcome;
  rollout.reward = reward;
  return rollout;
}

TEST(Evaluation, AveragesByKindAndLeavesInfrastructureOut) {
  Folder scratch;
  const auto tasks = rollouts::Tasks::of({{"a", R"({"kind":"x"})"}, {"b", R"({"kind":"y"})"}}, false, 0);
  std::uint64_t next = 0;
  Evaluation evaluation(tasks, 2, scratch.path,
                        [&](const rollouts::Task&, std::uint64_t, std::uint32_t) -> Result<RolloutId> { return RolloutId{++next}; });
  std::optional<EvaluationResult> result;
  evaluation.start(PolicyVersion{7}, [&](const EvaluationResult& given) { result = given; });
  EXPECT_FALSE(evaluation.take(finished(99, Outcome::completed, 1, "{}")));
  EXPECT_TRUE(evaluation.take(finished(2, Outcome::completed, 0.5, R"({"kind":"x"})")));
  EXPECT_TRUE(evaluation.take(finished(1, Outcome::timed_out, 0.25, R"({"kind":"x"})")));
  EXPECT_TRUE(evaluation.take(finished(3, Outcome::spawn_failed, std::nullopt, R"({"kind":"y"})")));
  EXPECT_FALSE(result);
  EXPECT_TRUE(evaluation.take(finished(4, Outcome::completed, 1, R"({"kind":"y"})")));
  ASSERT_TRUE(result);
  EXPECT_DOUBLE_EQ(result->all.mean(), 1.75 / 3);
  EXPECT_DOUBLE_EQ(result->by_kind["x"].mean(), 0.375);
  EXPECT_EQ(result->num_failed, 1U);
  const auto content = files::read(scratch.path + "/evaluation-7.jsonl").value();
  EXPECT_EQ(std::count(content.begin(), content.end(), '\n'), 4);
  EXPECT_LT(content.find("\"rollout\":1"), content.find("\"rollout\":2"));
}

TEST(TrainBatch, KeepsInvalidRolloutsOutAndOrdersByTask) {
  metrics::Registry metrics;
  std::vector<std::unique_ptr<Group>> groups;
  for (const std::uint64_t occurrence : {5, 2}) {
    auto group = std::make_unique<Group>();
    group->id = GroupId{occurrence};
    group->task_occurrence = occurrence;
    group->rollouts.push_back(finished(1, Outcome::completed, 0.5, "{}"));
    group->rollouts.push_back(finished(2, Outcome::engine_failed, std::nullopt, "{}"));
    groups.push_back(std::move(group));
  }
  const auto batch = make_train_batch(groups, config::Samples{}, metrics);
  ASSERT_EQ(batch.groups.size(), 2U);
  EXPECT_EQ(batch.groups[0].task_occurrence, 2U);
  EXPECT_TRUE(batch.groups[0].rollouts[0].is_valid);
  EXPECT_FALSE(batch.groups[0].rollouts[1].is_valid);
  EXPECT_EQ(batch.groups[0].rollouts[0].reward, 0.5);
}

Call call_of(std::uint32_t turn, std::vector<TokenId> prompt, std::vector<TokenId> reply) {
  Call call;
  call.id = CallId{turn + 1};
  call.turn = turn;
  call.prompt_ids = std::move(prompt);
  for (const auto id : reply) call.tokens.push_back({id, -1, -1, {}});
  call.is_delivered = true;
  return call;
}

// One conversation of two turns, and one whose second call was lost and whose third starts anew.
std::vector<std::unique_ptr<Group>> one_group() {
  auto group = std::make_unique<Group>();
  auto whole = finished(1, Outcome::completed, 1, "{}"), broken = finished(2, Outcome::completed, 0, "{}");
  whole.calls = {call_of(0, {1}, {2, 3}), call_of(1, {1, 2, 3, 4}, {5})};
  broken.calls = {call_of(0, {1}, {6}), call_of(1, {1, 6, 7}, {8, 9}), call_of(2, {7}, {8, 9, 10, 11})};
  broken.calls[1].is_delivered = false;
  broken.calls[2].split = SplitCause::history_dropped;
  group->rollouts = {whole, broken};
  std::vector<std::unique_ptr<Group>> groups;
  groups.push_back(std::move(group));
  return groups;
}

TEST(TrainBatch, CountsWhatBecameOfEveryToken) {
  metrics::Registry metrics;
  config::Samples options;
  options.reply_tokens_max = 3;
  const auto batch = make_train_batch(one_group(), options, metrics);
  EXPECT_EQ(batch.groups[0].rollouts[0].rows.size(), 1U);
  EXPECT_EQ(batch.groups[0].rollouts[1].rows.size(), 1U);
  EXPECT_DOUBLE_EQ(batch.undelivered_share, 0.2);
  EXPECT_EQ(metrics.counter("corisco_samples_tokens_trained_total").value(), 4);
  const auto untrained = [&](const char* reason) {
    return metrics.counter("corisco_samples_tokens_untrained_total", {reason}).value();
  };
  EXPECT_EQ(untrained("undelivered"), 2);
  EXPECT_EQ(untrained("reply_too_long"), 4);
  EXPECT_EQ(metrics.counter("corisco_samples_rollouts_total", {"one"}).value(), 2);

  options.reply_tokens_max = 0;
  EXPECT_EQ(make_train_batch(one_group(), options, metrics).groups[0].rollouts[1].rows.size(), 2U);
  EXPECT_EQ(metrics.counter("corisco_samples_splits_total", {"history_dropped"}).value(), 1);
  EXPECT_EQ(metrics.counter("corisco_samples_rollouts_total", {"several"}).value(), 1);
  options.merge = "transition";
  EXPECT_EQ(make_train_batch(one_group(), options, metrics).groups[0].rollouts[0].rows.size(), 2U);
}

TEST(TrainBatch, WarnsOnceWhenTooManyTokensReachedNobody) {
  Folder scratch;
  metrics::Registry metrics;
  config::Samples options;
  const auto lines_with_alarm = [&](double share) {
    const auto file = scratch.path + "/" + std::to_string(share);
    options.undelivered_share_alarm = share;
    log::set_file(file);
    (void)make_train_batch(one_group(), options, metrics);
    log::set_file("");
    const auto content = files::read(file).value();
    return std::count(content.begin(), content.end(), '\n');
  };
  EXPECT_EQ(lines_with_alarm(0.19), 1);   // the share is 2 of 10
  EXPECT_EQ(lines_with_alarm(0.2), 0);
}
}  // namespace
}  // namespace corisco::app
