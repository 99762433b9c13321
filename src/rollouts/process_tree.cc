#include "rollouts/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>

#include "corisco/base/strings.h"

namespace corisco::rollouts {
namespace {
// The file's beginning, with a zero behind it.
bool read_proc(const std::string& path, std::span<char> text) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const auto count = ::read(fd, text.data(), text.size() - 1);
  ::close(fd);
  return count > 0;
}

// The parent in /proc/PID/stat: "PID (name) state PARENT ..."; the name may hold anything.
pid_t parent_of(const char* pid) {
  std::array<char, 512> text{};
  if (!read_proc(cat("/proc/", pid, "/stat"), text)) return 0;
  const char* name_end = std::strrchr(text.data(), ')');
  if (name_end == nullptr || std::strlen(name_end) < 5) return 0;
  return static_cast<pid_t>(std::strtol(name_end + 4, nullptr, 10));
}

using Children = std::unordered_map<pid_t, std::vector<pid_t>>;
Children children_of_all() {
  Children children;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
  if (!folder) return children;
  while (const dirent* entry = ::readdir(folder.get())) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    if (const pid_t parent = parent_of(entry->d_name); parent > 0) {
      children[parent].push_back(static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10)));
    }
  }
  return children;
}

std::vector<pid_t> below(const Children& children, pid_t root, const std::set<pid_t>& except) {
  std::vector<pid_t> found = {root};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto next = children.find(found[i]);
    if (next == children.end()) continue;
    for (const pid_t pid : next->second) {
      if (!except.contains(pid)) found.push_back(pid);
    }
  }
  found.erase(found.begin());
  return found;
}

// /proc/PID/statm: "size resident shared ..." in pages.
std::uint64_t resident_bytes(pid_t pid) {
  std::array<char, 128> text{};
  if (!read_proc(cat("/proc/", pid, "/statm"), text)) return 0;
  unsigned long long size = 0, resident = 0, shared = 0;
  if (std::sscanf(text.data(), "%llu %llu %llu", &size, &resident, &shared) != 3) return 0;
  return (resident - std::min(resident, shared)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}
}  // namespace

std::vector<pid_t> descendants(const std::set<pid_t>& except) {
  return below(children_of_all(), ::getpid(), except);
}

std::vector<TreeUse> uses_below(const std::vector<pid_t>& roots) {
  const Children children = children_of_all();
  std::vector<TreeUse> uses;
  for (const pid_t root : roots) {
    const auto pids = below(children, root, {});
    TreeUse& use = uses.emplace_back();
    use.num_processes = pids.size();
    for (const pid_t pid : pids) use.resident_bytes += resident_bytes(pid);
  }
  return uses;
}

void signal_all(const std::vector<pid_t>& pids, int signal) {
  for (const pid_t pid : pids) ::kill(pid, signal);
}

void kill_descendants(const std::set<pid_t>& except) {
  constexpr int kLooksMax = 16;
  std::vector<pid_t> pids;
  for (int look = 0; look < kLooksMax; ++look) {
    auto now = descendants(except);
    signal_all(now, SIGSTOP);
    const bool is_stable = now.size() <= pids.size();
    pids = std::move(now);
    if (is_stable) break;
  }
  signal_all(pids, SIGKILL);
}

bool reap(const std::function<void(pid_t pid, int status)>& on_reaped) {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG | __WALL);
    if (pid > 0) {
      on_reaped(pid, status);
    } else if (pid == 0) {
      return true;
    } else if (errno != EINTR) {
      return false;
    }
  }
}
}  // namespace corisco::rollouts
