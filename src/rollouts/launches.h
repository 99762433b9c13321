// Builds what is started: the harness of an attempt and the grader of its rollout, from the config,
// the task and the attempt's folder. Pure but for the daemon's environment and small files: what a
// preset's agent reads in its home, and what a reward command may see.
#pragma once
#include <string>

#include "corisco/base/result.h"
#include "corisco/config/config.h"
#include "corisco/rollouts/sandbox.h"
#include "rollouts/attempt_folder.h"

namespace corisco::rollouts {
struct LaunchContext {
  const config::Config* config = nullptr;
  std::string config_folder;
  std::string gateway_url;
  const RolloutSpec* spec = nullptr;
  AttemptKey attempt;
  std::string api_key;
  AttemptFolder folder;
};

Result<Launch> harness_launch(const LaunchContext& context);

// What a grader is told about a rollout besides its task.
struct GraderView {
  std::string calls_json;              // a JSON array
  std::string outcome;
  std::string output;                  // the harness's, its end
};
// reward.source python or command.
Result<Launch> grader_launch(const LaunchContext& context, const GraderView& view);
}  // namespace corisco::rollouts
