// Where the files of one attempt lie, and the few operations on them. The harness can write there
// too, so nothing is followed or waited for: what is not a regular file reads as absent.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "corisco/base/result.h"
#include "corisco/types/call.h"

namespace corisco::rollouts {
struct AttemptFolder {
  std::string path;                    // RUN/rollouts/7/attempt-1
  std::string task_file;               // the task, mode 0600
  std::string output_file;             // the harness's stdout and stderr
  std::string reward_file;             // written by the harness
  std::string result_file;             // of a Python function
  std::string rollout_file;            // what a reward command may see of the rollout
  std::string grader_output_file;
  std::string work_folder;             // where the harness starts
  std::string home_folder;             // {home_folder}, the HOME of a preset's agent
};
AttemptFolder attempt_folder(const std::string& run_folder, AttemptKey attempt);

// Makes the folders and the task's file; what an earlier run left there is removed.
Result<void> create(const AttemptFolder& folder, std::string_view task_json);
Result<void> write_private(const std::string& path, std::string_view content);
// The last bytes of a regular file, or nothing.
std::optional<std::string> tail_of(const std::string& path, std::uint64_t bytes_max);
// After a good end: the work folder if it is empty, the home, and what only this process needed.
void tidy(const AttemptFolder& folder);
}  // namespace corisco::rollouts
