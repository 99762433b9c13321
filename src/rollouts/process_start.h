// Starts one program in a session of its own: exact environment, stdin /dev/null, no inherited
// descriptor, default signals, umask 077, killed when its parent dies unless asked otherwise.
// For processes with one thread.
#pragma once
#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "corisco/base/result.h"

namespace corisco::rollouts {
struct ProcessStart {
  std::vector<std::string> argv;       // the program is looked up in env's PATH
  std::map<std::string, std::string> env;
  std::string work_folder;             // empty: as it is
  int output_fd = 2;                   // becomes stdout and stderr
  int kept_fd = -1;                    // becomes descriptor kKeptFd, if there is one
  std::uint64_t memory_mb_max = 0;     // address space; 0: no limit
  bool is_killed_with_parent = true;   // by SIGKILL when its parent dies; false: by SIGTERM
};
inline constexpr int kKeptFd = 3;

// The pid once the program runs; the error says why it does not.
Result<pid_t> start_process(const ProcessStart& start);
}  // namespace corisco::rollouts
