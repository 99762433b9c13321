// One pass over the held-out tasks at one policy version: opens the rollouts, waits for all of
// them, keeps what they did in evaluation-<version>.jsonl. Owned by the io thread.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "corisco/base/result.h"
#include "corisco/rollouts/tasks.h"
#include "corisco/types/rollout.h"

namespace corisco::app {
struct Score {
  double sum = 0;
  std::uint32_t count = 0;
  double mean() const { return count == 0 ? 0 : sum / count; }
};

struct EvaluationResult {
  PolicyVersion version;
  Score all;
  std::map<std::string, Score> by_kind;  // of tasks that have a field "kind"
  std::uint32_t num_failed = 0;          // infrastructure: not in the means
  double seconds = 0;
  std::string file;
};
// "held-out reward 0.231 over 80 rollouts (3 failed)  include 0.50  lowercase 0.02 ..."
std::string to_text(const EvaluationResult& result);

class Evaluation {
 public:
  using OpenRollout = std::function<Result<RolloutId>(const rollouts::Task&, std::uint64_t index, std::uint32_t repeat)>;
  Evaluation(const rollouts::Tasks& tasks, std::uint32_t repeats, std::string folder, OpenRollout open);

  void start(PolicyVersion version, std::function<void(EvaluationResult)> done);
  // True if this rollout belonged to the pass that runs.
  bool take(const FinishedRollout& finished);
  bool is_running() const { return static_cast<bool>(done_); }

 private:
  void finish();
  const rollouts::Tasks& tasks_;
  const std::uint32_t repeats_;
  const std::string folder_;
  OpenRollout open_;
  std::map<RolloutId, std::size_t> waiting_;   // -> index in lines_
  std::vector<std::string> lines_;             // of the file, in the order of tasks and repeats
  EvaluationResult result_;
  double started_ = 0;
  std::function<void(EvaluationResult)> done_;
};

// The rollout as one JSON object: task, reward, note, outcome, calls with messages, reply, ids, logprobs.
std::string rollout_json(const FinishedRollout& finished, PolicyVersion version);
}  // namespace corisco::app
