// Whether a run is continued with the config, the tasks and the model that it began with. Reads and
// rewrites config.yaml and manifest.json of the run's folder, whose journal the caller has locked.
#pragma once
#include <string>
#include <vector>

#include "app/run_folder.h"
#include "corisco/base/result.h"
#include "corisco/config/config.h"

namespace corisco::app {
// One thing that is not as it was.
struct Change {
  std::string what;                      // a key of the config, or "tasks", "model", "config.yaml",
                                         // "harness file agent.py", "the daemon's own program"
  std::string was, is;
  bool is_free = false;                  // has no part in what the run computes
};
// "trainer.learning_rate: 0.001 -> 0.002"
std::string to_text(const Change& change);

// Whether a run may go on though this key of its config changed, and why; null: it may not.
const char* why_free(const std::string& key);
// Those keys; a name that ends in a dot stands for its whole section.
std::vector<std::string> free_keys();

// A manifest that was never written (the run was killed as it began) has nothing to compare: no change.
std::vector<Change> changes_of(const RunFolder& folder, const config::Config& config, const std::string& tasks_sha256,
                               const std::string& heldout_sha256);

// conflict, listing what changed, if any of it is not free and they are not accepted. Otherwise logs the
// changes, and keeps them and the config in force in the folder.
Result<void> check_resume(const RunFolder& folder, const config::Config& config, const std::string& tasks_sha256,
                          const std::string& heldout_sha256, bool accept_changes);
}  // namespace corisco::app
