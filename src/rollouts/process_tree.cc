#include "rollouts/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>

namespace corisco::rollouts {
namespace {
// The parent in /proc/PID/stat: "PID (name) state PARENT ..."; the name may hold anything.
pid_t parent_of(const char* pid) {
  const std::string path = std::string("/proc/") + pid + "/stat";
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  std::array<char, 512> text{};
  const auto count = ::read(fd, text.data(), text.size() - 1);
  ::close(fd);
  if (count <= 0) return 0;
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
}  // namespace

std::vector<pid_t> descendants(const std::set<pid_t>& except) {
  const Children children = children_of_all();
  std::vector<pid_t> found = {::getpid()};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto below = children.find(found[i]);
    if (below == children.end()) continue;
    for (const pid_t pid : below->second) {
      if (!except.contains(pid)) found.push_back(pid);
    }
  }
  found.erase(found.begin());
  return found;
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
