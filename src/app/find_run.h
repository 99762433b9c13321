// A run's folder that a person names, for commands that only read it.
#pragma once
#include <string>
#include <vector>

#include "corisco/base/result.h"
#include "corisco/config/load.h"

namespace corisco::app {
struct FoundRun {
  std::string folder;
  bool is_running = false;               // a daemon has its journal open
  config::Loaded loaded;                 // its config.yaml; files that it names need not exist any more
};

// run: a folder with a journal; the name of one in ./runs; or a config file, whose newest run is
// meant. overrides: as --set has them. not_found with what was looked for.
Result<FoundRun> find_run(const std::string& run, const std::vector<std::string>& overrides);
}  // namespace corisco::app
