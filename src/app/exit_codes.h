// What the process's exit status means; docs/operations.md says the same to users.
#pragma once

namespace corisco::app {
enum ExitCode : int {
  kExitDone = 0,        // the run is complete, or it was stopped by a first signal
  kExitFailed = 1,      // the run failed: the log's last error says why
  kExitBadStart = 2,    // config, model, data or address: nothing was started
  kExitForced = 130,    // a second signal ended it at once
};
}  // namespace corisco::app
