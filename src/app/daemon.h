// The whole daemon: builds every part bottom-up, runs the io thread, stops top-down.
// The only class that knows all modules.
#pragma once
#include <memory>
#include <string>

#include "corisco/base/result.h"
#include "corisco/config/config.h"

namespace corisco::app {
enum class Job {
  serve,       // as the config says: train, or only serve
  evaluate,    // one pass over the held-out tasks, then exit
  try_task,    // one rollout of one task without training; shows its calls, tokens and reward
};

struct DaemonOptions {
  config::Config config;
  Job job = Job::serve;
  bool resume = false;
  bool accept_changes = false;           // with resume: of the config, the tasks and the model
  std::string task;                      // of try_task: a task's id; empty: the first
  std::string checkpoint;                // of evaluate: a model folder instead of model.path
  std::string executable;                // this binary, for the spawner
};

// Must be called before any thread exists: it starts the spawner first.
class Daemon {
 public:
  static Result<std::unique_ptr<Daemon>> create(DaemonOptions options);
  ~Daemon();
  int run();                             // returns the exit code

 private:
  struct Parts;
  explicit Daemon(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};
}  // namespace corisco::app
