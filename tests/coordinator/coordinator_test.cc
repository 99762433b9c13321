#include "corisco/coordinator/coordinator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "corisco/base/strings.h"

namespace corisco::coordinator {
namespace {
// Answers at once through the io_context, as a device with instant work would; keeps what it was asked.
struct FakeDevice final : Device {
  explicit FakeDevice(boost::asio::io_context& context) : io(context) {}
  void quiesce(std::function<void()> drained) override { answer("quiesce", drained); }
  void train(std::vector<GroupId> groups, std::function<void()> trained) override {
    batches.push_back(groups);
    answer("train", trained);
  }
  void publish(std::function<void(UpdateReport)> published) override {
    UpdateReport report;
    report.was_skipped = skip;
    if (!skip) ++version;
    report.policy_version = PolicyVersion{version};
    answer("publish", [published, report] { published(report); });
  }
  void resume() override { asked.push_back("resume"); }
  void save(std::function<void(Result<std::string>)> saved) override {
    const auto result = save_error ? Result<std::string>(*save_error) : cat("step-", version);
    answer("save", [saved, result] { saved(result); });
  }
  void answer(const char* what, std::function<void()> then) {
    asked.push_back(what);
    boost::asio::post(io, std::move(then));
  }
  boost::asio::io_context& io;
  std::vector<std::string> asked;
  std::vector<std::vector<GroupId>> batches;
  std::uint64_t version = 0;
  bool skip = false;
  std::optional<Error> save_error;
};

struct Bench {
  explicit Bench(Plan given) : plan(given) {
    CoordinatorPorts ports;
    ports.open_group = [this](std::uint64_t occurrence, PolicyVersion opened_at_least) -> Result<OpenedGroup> {
      opened.push_back(occurrence);
      at_least.push_back(opened_at_least.value);
      return OpenedGroup{GroupId{opened.size()}, std::max(opened_at.value_or(coordinator->version()), opened_at_least)};
    };
    ports.is_for_later = [this](std::uint64_t occurrence) { return for_later.contains(occurrence); };
    ports.evaluate = [this](PolicyVersion version, std::function<void()> done) {
      evaluated.push_back(version.value);
      boost::asio::post(io, std::move(done));
    };
    ports.on_update = [this](const UpdateReport& report, const PhaseSeconds&, const std::vector<GroupId>&) {
      updates.push_back(report.policy_version.value);
      if (on_update) on_update();
    };
    ports.on_checkpoint = [this](PolicyVersion version, const Result<std::string>&) { saved.push_back(version.value); };
    ports.on_done = [this] { is_done = true; };
    ports.on_failed = [this](const std::string& reason) { failure = reason; };
    coordinator = std::make_unique<Coordinator>(io, clock, gate, device, metrics, plan, std::move(ports));
  }
  void settle() {
    io.restart();
    io.poll();
  }
  void ask_for_checkpoint() {
    coordinator->checkpoint([this](const Result<Checkpoint>& answer) {
      const auto how = answer.ok() && answer.value().was_there ? " was there" : "";
      answers.push_back(answer.ok() ? cat(answer.value().version, " ", answer.value().folder, how)
                                    : cat(to_string(answer.error().code), ": ", answer.error().message));
    });
  }
  // As far as this phase of the first update.
  void go_to(Phase phase) {
    while (completed < 2) coordinator->group_complete(GroupId{++completed});
    io.restart();
    while (coordinator->phase() != phase && io.poll_one() > 0) {
    }
  }
  std::size_t num_saves() const { return static_cast<std::size_t>(std::ranges::count(device.asked, "save")); }
  // Completes every group that is open and not complete yet, in the order of opening.
  void complete_all() {
    while (completed < opened.size() && !is_done) {
      coordinator->group_complete(GroupId{++completed});
      settle();
    }
  }

  Plan plan;
  boost::asio::io_context io;
  ManualClock clock;
  Gate gate{io.get_executor()};
  FakeDevice device{io};
  metrics::Registry metrics;
  std::unique_ptr<Coordinator> coordinator;
  std::vector<std::uint64_t> opened, at_least, evaluated, updates, saved;
  std::vector<std::string> answers;         // to those who asked for a checkpoint
  std::optional<PolicyVersion> opened_at;   // of the groups; none: the current version
  std::set<std::uint64_t> for_later;        // occurrences
  std::function<void()> on_update;
  std::size_t completed = 0;
  bool is_done = false;
  std::string failure;
};

Plan synchronous(std::uint64_t updates) {
  Plan plan;
  plan.updates = updates;
  plan.drain_seconds_max = 60;
  plan.window = {2, 2, 0};
  return plan;
}

TEST(Coordinator, RunsUpdatesEvaluationsAndTheLastCheckpointInOrder) {
  auto plan = synchronous(3);
  plan.evaluate_at_start = plan.evaluate_at_end = true;
  plan.evaluate_every = 2;
  plan.checkpoint_every = 2;
  Bench bench(plan);
  bench.coordinator->start({});
  bench.settle();
  for (int i = 0; i < 3; ++i) bench.complete_all();
  EXPECT_TRUE(bench.is_done);
  EXPECT_EQ(bench.updates, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(bench.evaluated, (std::vector<std::uint64_t>{0, 2, 3}));
  EXPECT_EQ(bench.saved, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(bench.opened, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(bench.gate.state(), GateState::open);
}

TEST(Coordinator, KeepsTheProtocolWithTheDevice) {
  Bench bench(synchronous(1));
  bench.coordinator->start({});
  bench.complete_all();
  EXPECT_EQ(bench.device.asked, (std::vector<std::string>{"quiesce", "train", "publish", "resume", "save"}));
  EXPECT_EQ(bench.device.batches.at(0), (std::vector<GroupId>{GroupId{1}, GroupId{2}}));
}

TEST(Coordinator, OpensNoMoreGroupsThanTheRestOfTheRunNeeds) {
  auto plan = synchronous(2);
  plan.window = {2, 6, 2};
  Bench bench(plan);
  bench.coordinator->start({});
  EXPECT_EQ(bench.opened.size(), 4U);
  bench.complete_all();
  EXPECT_TRUE(bench.is_done);
  EXPECT_EQ(bench.opened.size(), 4U);
}

TEST(Coordinator, ContinuesARunAndRedoesLostTasksFirst) {
  Bench bench(synchronous(5));
  bench.device.version = 3;
  bench.coordinator->start({PolicyVersion{3}, 3, 9, {6}, false});
  EXPECT_EQ(bench.opened, (std::vector<std::uint64_t>{6, 9}));
  EXPECT_EQ(bench.at_least, (std::vector<std::uint64_t>{3, 3}));
  bench.complete_all();
  EXPECT_EQ(bench.updates, (std::vector<std::uint64_t>{4, 5}));
}

// Two groups of version 2 go on at version 3, where they are due: no third one may be as old.
TEST(Coordinator, GoesOnWithGroupsOfAnEarlierVersionWhileTheyCanBeTrainedInTime) {
  auto plan = synchronous(9);
  plan.window = {2, 4, 1};
  Bench bench(plan);
  bench.opened_at = PolicyVersion{2};
  bench.coordinator->start({PolicyVersion{3}, 3, 9, {5, 6, 7, 8}, false});
  EXPECT_EQ(bench.at_least, (std::vector<std::uint64_t>{2, 2, 3, 3}));
}

TEST(Coordinator, LeavesTasksForALaterUpdateIfTheNextOneCanDoWithout) {
  auto plan = synchronous(9);
  plan.window = {2, 4, 1};
  Bench bench(plan);
  bench.device.version = 3;
  bench.for_later = {5, 7};
  bench.on_update = [&] { bench.for_later.clear(); };
  bench.coordinator->start({PolicyVersion{3}, 3, 9, {5, 6, 7, 8}, false});
  EXPECT_EQ(bench.opened, (std::vector<std::uint64_t>{6, 8}));
  bench.coordinator->group_complete(GroupId{1});
  bench.coordinator->group_complete(GroupId{2});
  bench.settle();
  EXPECT_EQ(bench.opened, (std::vector<std::uint64_t>{6, 8, 5, 7, 9, 10}));
}

TEST(Coordinator, TakesATaskForALaterUpdateIfTheNextOneLacksAGroup) {
  auto plan = synchronous(9);
  plan.window = {2, 4, 1};
  Bench bench(plan);
  bench.for_later = {5, 6, 7};
  bench.coordinator->start({PolicyVersion{3}, 3, 9, {5, 6, 7, 8}, false});
  EXPECT_EQ(bench.opened, (std::vector<std::uint64_t>{8, 5}));
}

TEST(Coordinator, ARunThatWasSavedAtItsEndIsNotSavedAgain) {
  Bench bench(synchronous(3));
  bench.coordinator->start({PolicyVersion{3}, 3, 6, {}, true});
  bench.settle();
  EXPECT_TRUE(bench.is_done);
  EXPECT_TRUE(bench.saved.empty());
}

TEST(Coordinator, AnUpdateIsReportedBeforeItsCheckpointBegins) {
  auto plan = synchronous(2);
  plan.checkpoint_every = 1;
  Bench bench(plan);
  bench.on_update = [&] { EXPECT_EQ(std::count(bench.device.asked.begin(), bench.device.asked.end(), "save"), 0); };
  bench.coordinator->start({});
  bench.coordinator->group_complete(GroupId{1});
  bench.coordinator->group_complete(GroupId{2});
  bench.settle();
  EXPECT_EQ(bench.updates.size(), 1U);
  EXPECT_EQ(bench.saved.size(), 1U);
}

TEST(Coordinator, ASkippedUpdateCountsButKeepsTheVersion) {
  Bench bench(synchronous(2));
  bench.device.skip = true;
  bench.coordinator->start({});
  bench.complete_all();
  EXPECT_TRUE(bench.is_done);
  EXPECT_EQ(bench.coordinator->version(), PolicyVersion{0});
  EXPECT_EQ(bench.coordinator->updates_done(), 2U);
}

TEST(Coordinator, APausedDaemonStartsNoUpdate) {
  Bench bench(synchronous(1));
  bench.coordinator->start({});
  bench.coordinator->set_paused(true);
  bench.complete_all();
  EXPECT_TRUE(bench.device.asked.empty());
  EXPECT_EQ(bench.gate.state(), GateState::shut);
  bench.coordinator->set_paused(false);
  bench.settle();
  EXPECT_TRUE(bench.is_done);
}

TEST(Coordinator, StopDiscardsWhatIsUnderWay) {
  Bench bench(synchronous(1));
  bench.coordinator->start({});
  bench.coordinator->group_complete(GroupId{1});
  bench.coordinator->group_complete(GroupId{2});
  bench.coordinator->stop();
  bench.settle();
  EXPECT_EQ(bench.coordinator->phase(), Phase::stopping);
  EXPECT_TRUE(bench.updates.empty());
}

using Answers = std::vector<std::string>;

TEST(Checkpoint, BetweenUpdatesItIsWrittenAtOnceAlsoWhilePaused) {
  for (const bool is_paused : {false, true}) {
    Bench bench(synchronous(2));
    bench.coordinator->start({});
    bench.coordinator->set_paused(is_paused);
    bench.ask_for_checkpoint();
    EXPECT_EQ(bench.num_saves(), 1U);
    EXPECT_TRUE(bench.coordinator->is_checkpoint_pending());
    bench.settle();
    EXPECT_EQ(bench.answers, (Answers{"0 step-0"}));
    EXPECT_EQ(bench.saved, (std::vector<std::uint64_t>{0}));
    EXPECT_FALSE(bench.coordinator->is_checkpoint_pending());
    EXPECT_EQ(bench.coordinator->last_checkpoint()->folder, "step-0");
  }
}

TEST(Checkpoint, WhileDrainingItIsSavedBeforeTheUpdateTrains) {
  Bench bench(synchronous(2));
  bench.coordinator->start({});
  bench.go_to(Phase::draining);
  bench.ask_for_checkpoint();
  bench.settle();
  EXPECT_EQ(bench.answers, (Answers{"0 step-0"}));
  EXPECT_EQ(bench.device.asked, (std::vector<std::string>{"quiesce", "save", "train", "publish", "resume"}));
}

TEST(Checkpoint, WithinAnUpdateItWaitsForWhatThatPublishes) {
  for (const auto phase : {Phase::training, Phase::publishing}) {
    Bench bench(synchronous(2));
    bench.coordinator->start({});
    bench.go_to(phase);
    bench.ask_for_checkpoint();
    EXPECT_EQ(bench.num_saves(), 0U);
    EXPECT_TRUE(bench.coordinator->is_checkpoint_pending());
    bench.settle();
    EXPECT_EQ(bench.answers, (Answers{"1 step-1"}));
    EXPECT_EQ(bench.device.asked, (std::vector<std::string>{"quiesce", "train", "publish", "save", "resume"}));
  }
}

TEST(Checkpoint, AfterASkippedUpdateItIsThatOfTheOldWeights) {
  Bench bench(synchronous(2));
  bench.device.skip = true;
  bench.coordinator->start({});
  bench.go_to(Phase::training);
  bench.ask_for_checkpoint();
  bench.settle();
  EXPECT_EQ(bench.answers, (Answers{"0 step-0"}));
}

TEST(Checkpoint, IsWrittenOnceHoweverOftenItIsAskedFor) {
  auto plan = synchronous(2);
  plan.checkpoint_every = 1;
  Bench bench(plan);
  bench.coordinator->start({});
  bench.go_to(Phase::training);
  bench.ask_for_checkpoint();
  bench.ask_for_checkpoint();
  bench.settle();
  bench.ask_for_checkpoint();
  EXPECT_EQ(bench.answers, (Answers{"1 step-1", "1 step-1", "1 step-1 was there"}));
  EXPECT_EQ(bench.num_saves(), 1U);
}

TEST(Checkpoint, OneThatTheRunWasResumedFromIsThere) {
  Bench bench(synchronous(5));
  bench.device.version = 3;
  bench.coordinator->start({PolicyVersion{3}, 4, 9, {}, false, "step-3"});
  bench.ask_for_checkpoint();
  EXPECT_EQ(bench.answers, (Answers{"3 step-3 was there"}));
  EXPECT_EQ(bench.num_saves(), 0U);
}

TEST(Checkpoint, AFailureIsToldAndTheLastOneStays) {
  Bench bench(synchronous(9));
  bench.coordinator->start({});
  bench.ask_for_checkpoint();
  bench.go_to(Phase::training);
  bench.settle();
  bench.device.save_error = Error{Code::not_found, "the disk is full"};
  bench.ask_for_checkpoint();
  bench.settle();
  ASSERT_EQ(bench.answers.size(), 2U);
  EXPECT_EQ(bench.answers[1].find("internal: "), 0U) << bench.answers[1];
  EXPECT_NE(bench.answers[1].find("the disk is full"), std::string::npos) << bench.answers[1];
  EXPECT_EQ(bench.coordinator->last_checkpoint()->version, PolicyVersion{0});
  bench.device.save_error.reset();
  bench.ask_for_checkpoint();
  bench.settle();
  EXPECT_EQ(bench.answers[2], "1 step-1");
  EXPECT_TRUE(bench.failure.empty());
}

TEST(Checkpoint, OfTheLastUpdateIsTheRunsLastOne) {
  Bench bench(synchronous(1));
  bench.coordinator->start({});
  bench.go_to(Phase::publishing);
  bench.ask_for_checkpoint();
  bench.settle();
  EXPECT_EQ(bench.answers, (Answers{"1 step-1"}));
  EXPECT_EQ(bench.num_saves(), 1U);
  EXPECT_TRUE(bench.is_done);
}

TEST(Checkpoint, ThatFailedBeforeTheLastEvaluationIsTriedAgainAtTheEnd) {
  auto plan = synchronous(1);
  plan.evaluate_at_end = true;
  Bench bench(plan);
  bench.coordinator->start({});
  bench.go_to(Phase::publishing);
  bench.ask_for_checkpoint();
  bench.device.save_error = Error{Code::unavailable, "the disk is full"};
  bench.go_to(Phase::generating);
  bench.device.save_error.reset();
  bench.settle();
  EXPECT_EQ(bench.answers.at(0).find("unavailable: "), 0U) << bench.answers.at(0);
  EXPECT_EQ(bench.num_saves(), 2U);
  EXPECT_EQ(bench.coordinator->last_checkpoint()->folder, "step-1");
  EXPECT_TRUE(bench.is_done);
}

TEST(Checkpoint, WhoeverWaitsForOneIsToldThatTheDaemonStops) {
  Bench bench(synchronous(2));
  bench.ask_for_checkpoint();
  bench.coordinator->start({});
  bench.go_to(Phase::training);
  bench.ask_for_checkpoint();
  bench.coordinator->stop();
  bench.ask_for_checkpoint();
  bench.settle();
  ASSERT_EQ(bench.answers.size(), 3U);
  for (const auto& answer : bench.answers) EXPECT_EQ(answer.find("unavailable: "), 0U) << answer;
  EXPECT_EQ(bench.num_saves(), 0U);
}

TEST(Checkpoint, OneThatIsBeingWrittenOutlastsTheStop) {
  Bench bench(synchronous(2));
  bench.coordinator->start({});
  bench.ask_for_checkpoint();
  bench.coordinator->stop();
  EXPECT_TRUE(bench.coordinator->is_saving());
  bench.settle();
  EXPECT_EQ(bench.answers, (Answers{"0 step-0"}));
}

TEST(Checkpoint, NoMoreThanABoundWaitForIt) {
  Bench bench(synchronous(2));
  bench.coordinator->start({});
  for (int i = 0; i < 257; ++i) bench.ask_for_checkpoint();
  ASSERT_EQ(bench.answers.size(), 1U);
  EXPECT_EQ(bench.answers[0].find("overloaded: "), 0U) << bench.answers[0];
  bench.settle();
  EXPECT_EQ(bench.answers.size(), 257U);
  EXPECT_EQ(bench.num_saves(), 1U);
}

TEST(Phase, MovesAreThoseOfTheTable) {
  const std::vector<Phase> all = {Phase::starting, Phase::generating, Phase::draining, Phase::training,
                                  Phase::publishing, Phase::stopping, Phase::failed};
  const std::vector<std::pair<Phase, Phase>> forward = {{Phase::starting, Phase::generating},
                                                        {Phase::generating, Phase::draining},
                                                        {Phase::draining, Phase::training},
                                                        {Phase::training, Phase::publishing},
                                                        {Phase::publishing, Phase::generating}};
  for (const auto from : all) {
    for (const auto to : all) {
      const bool ends = (to == Phase::stopping || to == Phase::failed) && from != Phase::stopping && from != Phase::failed;
      const bool is_forward = std::find(forward.begin(), forward.end(), std::pair(from, to)) != forward.end();
      EXPECT_EQ(can_move(from, to), ends || is_forward) << to_string(from) << " -> " << to_string(to);
    }
  }
}
}  // namespace
}  // namespace corisco::coordinator
