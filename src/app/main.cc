// The binary: sets what must be in the environment before libgomp loads, then runs the command line.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "corisco/rollouts/spawner.h"

namespace {
// OpenMP reads its waiting policy once, when its library is loaded, which is before main: so main
// sets it and executes the same binary again, once. Spinning threads would take the cores from the
// io thread and the harnesses.
void execute_again_with_passive_waiting(char** argv) {
  if (std::getenv("CORISCO_REEXECUTED") != nullptr) return;
  ::setenv("CORISCO_REEXECUTED", "1", 1);
  ::setenv("OMP_WAIT_POLICY", "passive", 1);
  ::setenv("GOMP_SPINCOUNT", "0", 1);
  ::execv("/proc/self/exe", argv);       // returns only on failure: then spinning is the lesser evil
}
}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "__spawner") == 0) return corisco::rollouts::spawner_main(std::atoi(argv[2]));
  execute_again_with_passive_waiting(argv);
  // Not for children, which get an environment of their own anyway.
  ::unsetenv("CORISCO_REEXECUTED");
  return corisco::app::run_command_line(argc, argv);
}
