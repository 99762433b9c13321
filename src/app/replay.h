// `corisco replay`: an update made again from the journal, without generating: to see whether it comes out
// bit-equal, to debug it, or to try another loss. The daemon's own trainer on the calling thread; the run's
// folder is only read.
#pragma once
#include <string>
#include <vector>

#include "corisco/base/id.h"

namespace corisco::app {
struct ReplayOptions {
  std::string run;                       // as find_run takes it
  std::vector<std::string> overrides;    // over the run's own config
  PolicyVersion version;                 // that the update made
  std::string out;                       // a new folder for a checkpoint of the result; empty: none
};
// Exit status 1 if other weights came out although nothing was overridden, 2 if it cannot be replayed.
int replay(const ReplayOptions& options);
}  // namespace corisco::app
