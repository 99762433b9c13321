// The files of a recipe that run: the harness's and the reward's Python file, and what of their commands lies in
// the config's folder. What they import is not looked at. Reads them; any thread.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "corisco/config/config.h"

namespace corisco::app {
//   {"rollouts.harness.python": {"file": "agent.py", "sha256": "9f..."},
//    "rollouts.reward.command[1]": {"file": "tools/grade.py", "sha256": "missing"}}
// file: its path within the config's folder, or all of it. sha256: or "missing".
inline const std::string kMissingFile = "missing";
nlohmann::ordered_json harness_files(const config::Config& config);
}  // namespace corisco::app
