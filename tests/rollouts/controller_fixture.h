// A controller with a fake sandbox, a clock moved by hand and ports that write down what they hear.
#pragma once
#include <gtest/gtest.h>

#include <deque>

#include "corisco/base/strings.h"
#include "corisco/rollouts/controller.h"
#include "rollouts/attempt_folder.h"
#include "rollouts/temporary_folder.h"

namespace corisco::rollouts {
struct FakeSandbox final : Sandbox {
  struct Running {
    Launch launch;
    OnEnd on_end;
  };
  void start(Launch launch, OnEnd on_end) override {
    const AttemptKey key = launch.attempt;
    started.push_back(launch);
    running[key] = {std::move(launch), std::move(on_end)};
  }
  void kill(AttemptKey attempt, std::uint32_t grace_ms) override {
    killed.emplace_back(attempt, grace_ms);
  }
  void end(AttemptKey attempt, ProcessEnd::How how, int code = 0, std::string error = "") {
    auto found = running.extract(attempt);
    ASSERT_FALSE(found.empty()) << attempt.rollout << " does not run";
    found.mapped().on_end({attempt, how, code, std::move(error)});
  }
  std::vector<Launch> started;
  std::map<AttemptKey, Running> running;
  std::vector<std::pair<AttemptKey, std::uint32_t>> killed;
};

class ControllerFixture : public ::testing::Test {
 protected:
  ControllerFixture() {
    config.file = "/configs/recipe/recipe.yaml";
    config.rollouts.harness.command = {"agent", "{task.text}", "{config_folder}"};
    config.rollouts.group_size = 2;
    config.rollouts.processes_max = 2;
    config.rollouts.seconds_max = 10;
    config.rollouts.reward.minimum = -1;
    summary.num_calls = summary.num_delivered = 1;
  }

  Controller& controller() {
    if (!controller_) controller_ = std::make_unique<Controller>(parts());
    return *controller_;
  }

  ControllerParts parts() {
    ControllerParts given{&io, &clock, &config, sandbox, &metrics, folder.path(), "http://h:1", {}};
    ControllerPorts& ports = given.ports;
    ports.open_attempt = [this](const RolloutSpec& spec, std::uint32_t attempt, std::uint64_t salt) {
      salts.push_back(salt);
      return cat("key-", spec.id, "-", attempt);
    };
    ports.close_attempt = [this](AttemptKey attempt) {
      closed.push_back(attempt);
      return summary;
    };
    ports.look_at_attempt = [this](AttemptKey) { return summary; };
    ports.open_group = [this](GroupId id, std::uint64_t occurrence, std::uint32_t siblings) {
      groups.push_back(cat(id, ":", occurrence, "x", siblings));
      return Result<void>();
    };
    ports.open_rollout = [this](const RolloutSpec& spec) {
      opened.push_back(spec);
      return Result<void>();
    };
    ports.reopen_rollout = [this](const RolloutSpec& spec, std::uint32_t attempts_before) {
      reopened.emplace_back(spec.id, attempts_before);
      return Result<void>();
    };
    ports.start_attempt = [](AttemptKey, std::uint64_t) { return Result<void>(); };
    ports.finish = [this](FinishedRollout rollout) {
      finished.push_back(std::move(rollout));
      return Result<void>();
    };
    ports.transcript_json = [](AttemptKey) { return std::string(R"([{"turn":0}])"); };
    ports.on_broken = [this](const std::string& why) { broken.push_back(why); };
    return given;
  }

  // Lets the controller look; seconds moves its clock first.
  void pass(double seconds = 0) {
    clock.advance(std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)));
    io.restart();
    io.run_for(std::chrono::milliseconds(seconds > 0 ? 120 : 2));
  }
  void open_group(std::uint64_t occurrence = 0) {
    const auto group = controller().open_group({"t", R"({"text": "hi"})"}, occurrence);
    ASSERT_TRUE(group.ok()) << group.error().message;
    pass();
  }
  static AttemptKey key(std::uint64_t rollout, std::uint32_t attempt = 1) {
    return {RolloutId{rollout}, attempt};
  }
  AttemptFolder files(std::uint64_t rollout, std::uint32_t attempt = 1) const {
    return attempt_folder(folder.path(), key(rollout, attempt));
  }
  void end(std::uint64_t rollout, std::uint32_t attempt = 1, int code = 0) {
    fake.end(key(rollout, attempt), ProcessEnd::How::exited, code);
    pass();
  }
  void end_with_reward(std::uint64_t rollout, const std::string& reward, int code = 0) {
    folder.write(files(rollout).reward_file.substr(folder.path().size() + 1), reward);
    end(rollout, 1, code);
  }

  TemporaryFolder folder;
  boost::asio::io_context io;
  ManualClock clock;
  config::Config config;
  FakeSandbox fake;
  Sandbox* sandbox = &fake;
  metrics::Registry metrics;
  ControllerPorts::Summary summary;
  std::vector<std::uint64_t> salts;
  std::vector<AttemptKey> closed;
  std::vector<std::string> groups, broken;
  std::vector<RolloutSpec> opened;
  std::vector<std::pair<RolloutId, std::uint32_t>> reopened;   // with the attempts before
  std::vector<FinishedRollout> finished;

 private:
  std::unique_ptr<Controller> controller_;
};
}  // namespace corisco::rollouts
