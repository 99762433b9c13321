#include "app/launch_agent.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "app/exit_codes.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace {
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Agents read what comes on standard input, as in a rollout: nothing.
void close_input() {
  const int null_fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null_fd >= 0) ::dup2(null_fd, STDIN_FILENO);
}
}  // namespace

int launch_agent(const rollouts::AgentStart& start) {
  auto launch = rollouts::agent_launch(start);
  if (!launch.ok()) {
    std::fprintf(stderr, "error: %s\n", launch.error().message.c_str());
    return kExitBadStart;
  }
  std::vector<std::string> variables;
  for (const auto& [name, value] : launch.value().env) variables.push_back(cat(name, "=", value));
  const auto arguments = pointers_to(launch.value().argv);
  const auto environment = pointers_to(variables);
  close_input();
  if (::chdir(launch.value().work_folder.c_str()) == 0) ::execvpe(arguments[0], arguments.data(), environment.data());
  std::fprintf(stderr, "error: could not start %s in %s: %s\n", arguments[0], launch.value().work_folder.c_str(),
               std::strerror(errno));
  return kExitBadStart;
}
}  // namespace corisco::app
