// The files of a recipe that run: the harness's and the reward's Python file, and what of their commands lies in
// the config's folder; of Python files also what they import from their own folder. Reads them; any thread.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "corisco/config/config.h"

namespace corisco::app {
//   {"rollouts.harness.python": {"file": "agent.py", "sha256": "9f...", "imports": {"prompts.py": "07..."}},
//    "rollouts.reward.command[1]": {"file": "tools/grade.sh", "sha256": "missing"}}
// file: its path within the config's folder, or all of it. sha256: or "missing".
inline const std::string kMissingFile = "missing";
nlohmann::ordered_json harness_files(const config::Config& config);
}  // namespace corisco::app
