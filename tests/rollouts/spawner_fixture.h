// A real spawner, this test program being its executable, driven from one thread.
#pragma once
#include <gtest/gtest.h>
#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <thread>

#include "corisco/rollouts/spawner.h"
#include "rollouts/temporary_folder.h"

namespace corisco::rollouts {
inline SpawnerOptions test_options() {
  SpawnerOptions options;
  options.executable = "/proc/self/exe";
  return options;
}

inline SpawnerOptions python_options(std::vector<std::string> preload) {
  SpawnerOptions options = test_options();
  options.python_interpreter = "python3";
  options.python_preload = std::move(preload);
  options.python_env = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}};
  return options;
}

// Live processes (not zombies) with this text in their environment: what a tree left behind.
inline std::vector<pid_t> marked_processes(const std::string& mark) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (content_of("/proc/" + name + "/environ").find(mark) != std::string::npos) {
      found.push_back(std::stoi(name));
    }
  }
  return found;
}

inline bool is_alive(pid_t pid) {
  const std::string stat = content_of("/proc/" + std::to_string(pid) + "/stat");
  const auto name_end = stat.rfind(')');
  return name_end != std::string::npos && stat[name_end + 2] != 'Z';
}

inline bool wait_until(const std::function<bool()>& is_true, double seconds = 10) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!is_true()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

class SpawnerDriver {
 public:
  explicit SpawnerDriver(const SpawnerOptions& options) {
    auto created = Spawner::create(options);
    EXPECT_TRUE(created.ok()) << created.error().message;
    spawner_ = std::move(created).value();
    spawner_->attach(io_);
  }

  Spawner& spawner() { return *spawner_; }
  boost::asio::io_context& io() { return io_; }

  // A launch that runs in the test's folder, its output in <id>.txt.
  Launch launch(std::uint64_t id) const {
    Launch one;
    one.attempt = {RolloutId{id}, 1};
    one.env = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}};
    one.work_folder = folder_.path();
    one.output_file = folder_ / (std::to_string(id) + ".txt");
    one.result_file = folder_ / (std::to_string(id) + ".json");
    one.output_bytes_max = 1 << 20;
    return one;
  }
  Launch shell(std::uint64_t id, const std::string& script) const {
    Launch one = launch(id);
    one.argv = {"sh", "-c", script};
    return one;
  }
  void start(Launch one) {
    spawner_->start(std::move(one), [this](const ProcessEnd& end) {
      EXPECT_TRUE(ends_.emplace(end.attempt.rollout.value, end).second) << "an end came twice";
    });
  }
  void kill(std::uint64_t id, std::uint32_t grace_ms) {
    spawner_->kill({RolloutId{id}, 1}, grace_ms);
  }
  ProcessEnd wait_for(std::uint64_t id) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!ends_.contains(id) && std::chrono::steady_clock::now() < until) {
      io_.run_for(std::chrono::milliseconds(20));
      io_.restart();
    }
    EXPECT_TRUE(ends_.contains(id)) << "no end of " << id;
    return ends_[id];
  }
  ProcessEnd run(Launch one) {
    const auto id = one.attempt.rollout.value;
    start(std::move(one));
    return wait_for(id);
  }
  std::string output(std::uint64_t id) const { return content_of(folder_ / (std::to_string(id) + ".txt")); }
  std::string result(std::uint64_t id) const { return content_of(folder_ / (std::to_string(id) + ".json")); }
  const TemporaryFolder& folder() const { return folder_; }
  bool has_ended(std::uint64_t id) const { return ends_.contains(id); }

 private:
  TemporaryFolder folder_;
  boost::asio::io_context io_;
  std::unique_ptr<Spawner> spawner_;
  std::map<std::uint64_t, ProcessEnd> ends_;
};
}  // namespace corisco::rollouts
