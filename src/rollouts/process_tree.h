// The processes below this one: found, signalled, reaped. For processes with one thread that are
// child subreapers (PR_SET_CHILD_SUBREAPER): whatever its descendants do (setsid, double fork),
// orphans come back as children, so that "no child left" means "no descendant left".
// Never blocks.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

namespace corisco::rollouts {
// All descendants but those in except and below them. A snapshot: look again until there are none.
std::vector<pid_t> descendants(const std::set<pid_t>& except = {});

struct TreeUse {
  std::uint64_t num_processes = 0;
  std::uint64_t resident_bytes = 0;    // without what files back
};
// Of each root's descendants, without the root, in one look at /proc.
std::vector<TreeUse> uses_below(const std::vector<pid_t>& roots);

void signal_all(const std::vector<pid_t>& pids, int signal);
// Stops them first, so that a fork bomb cannot outrun the look, then kills what it found.
void kill_descendants(const std::set<pid_t>& except = {});

// Reaps every child that has ended. False once there is no child at all, ended or running.
bool reap(const std::function<void(pid_t pid, int status)>& on_reaped);
}  // namespace corisco::rollouts
