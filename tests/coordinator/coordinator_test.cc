#include "corisco/coordinator/coordinator.h"

#include <gtest/gtest.h>

#include <algorithm>

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
    answer("save", [saved] { saved(std::string("folder")); });
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
};

struct Bench {
  explicit Bench(Plan given) : plan(given) {
    CoordinatorPorts ports;
    ports.open_group = [this](std::uint64_t occurrence, PolicyVersion opened_at_least) -> Result<OpenedGroup> {
      opened.push_back(occurrence);
      at_least.push_back(opened_at_least.value);
      return OpenedGroup{GroupId{opened.size()}, std::max(opened_at.value_or(coordinator->version()), opened_at_least)};
    };
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
  std::optional<PolicyVersion> opened_at;   // of the groups; none: the current version
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
