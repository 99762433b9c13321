// The agents of rollouts.harness.preset, as the rest of the daemon sees them.
#pragma once
#include <string>
#include <vector>

#include "corisco/base/result.h"
#include "corisco/config/config.h"
#include "corisco/rollouts/sandbox.h"

namespace corisco::rollouts {
std::vector<std::string> preset_names();
// Whether the preset's program is on the PATH; the error says how to install it.
Result<void> check_program(const config::Harness& harness);

// One agent on one prompt, outside any rollout.
struct AgentStart {
  std::string preset;
  std::string url;                     // of any server, without /v1
  std::string api_key, model, prompt;
  std::string folder;                  // made if missing; the agent starts in its work/, its HOME is home/
};
// What starts it, as the preset would in a rollout. Makes the folders and writes the agent's files.
Result<Launch> agent_launch(const AgentStart& start);
}  // namespace corisco::rollouts
