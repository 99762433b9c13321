// Who starts and ends harness processes: the local spawner, or a fake in tests.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "corisco/base/result.h"
#include "corisco/types/rollout.h"

namespace corisco::rollouts {
struct Launch {
  AttemptKey attempt;
  std::vector<std::string> argv;                   // a command, or
  std::string python_function;                     // "file.py:function" in the warmed interpreter
  std::string python_argument_json;                // its arguments: a JSON array
  std::map<std::string, std::string> env;          // the whole environment
  std::string work_folder;                         // made by the sandbox's caller
  std::string output_file;                         // stdout and stderr
  std::string result_file;                         // where a python function's result goes, as JSON
  std::uint64_t output_bytes_max = 0, memory_mb_max = 0;
  std::uint64_t tree_memory_mb_max = 0, tree_processes_max = 0;  // 0: no limit
};

struct ProcessEnd {
  AttemptKey attempt;
  enum class How : std::uint8_t { exited, signalled, killed, not_started, over_limit } how = How::exited;
  int code = 0;                                    // exit status or signal number
  std::string error;                               // why it was not started, or over which limit
};

struct Sandbox {
  using OnEnd = std::function<void(ProcessEnd)>;
  // on_end is called on the io thread exactly once, after the whole tree is gone.
  virtual void start(Launch launch, OnEnd on_end) = 0;
  // Ends the whole tree: SIGTERM, then SIGKILL after grace_ms. Idempotent; on_end still comes.
  virtual void kill(AttemptKey attempt, std::uint32_t grace_ms) = 0;
  virtual ~Sandbox() = default;
};
}  // namespace corisco::rollouts
