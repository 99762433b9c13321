#include "rollouts/attempt_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "corisco/base/files.h"
#include "corisco/base/strings.h"
#include "rollouts/file_descriptor.h"

namespace corisco::rollouts {
namespace {
Error failed(const char* what, const std::string& path) {
  return Error{Code::unavailable, cat("could not ", what, " ", path, ": ", std::strerror(errno))};
}
}  // namespace

AttemptFolder attempt_folder(const std::string& run_folder, AttemptKey attempt) {
  AttemptFolder folder;
  folder.path = cat(run_folder, "/rollouts/", attempt.rollout, "/attempt-", attempt.attempt);
  folder.task_file = folder.path + "/task.json";
  folder.output_file = folder.path + "/output.txt";
  folder.reward_file = folder.path + "/reward";
  folder.result_file = folder.path + "/result.json";
  folder.rollout_file = folder.path + "/rollout.json";
  folder.grader_output_file = folder.path + "/grader.txt";
  folder.work_folder = folder.path + "/work";
  folder.home_folder = folder.path + "/home";
  return folder;
}

Result<void> write_private(const std::string& path, std::string_view content) {
  const FileDescriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) return failed("create", path);
  if (files::write_all(file.get(), content) < content.size()) return failed("write", path);
  return {};
}

Result<void> create(const AttemptFolder& folder, std::string_view task_json) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(folder.path).parent_path(), error);
  if (error) {
    return Error{Code::unavailable, cat("could not create ", folder.path, ": ", error.message())};
  }
  // A run that was killed left the folder of an attempt that is made again.
  std::filesystem::remove_all(folder.path, error);
  if (::mkdir(folder.path.c_str(), 0700) != 0) return failed("create", folder.path);
  for (const auto& inner : {folder.work_folder, folder.home_folder}) {
    if (::mkdir(inner.c_str(), 0700) != 0) return failed("create", inner);
  }
  return write_private(folder.task_file, task_json);
}

std::optional<std::string> tail_of(const std::string& path, std::uint64_t bytes_max) {
  const FileDescriptor file(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  const auto size = static_cast<std::uint64_t>(status.st_size);
  std::string tail(std::min(size, bytes_max), '\0');
  const auto count =
      ::pread(file.get(), tail.data(), tail.size(), static_cast<off_t>(size - tail.size()));
  tail.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return tail;
}

void tidy(const AttemptFolder& folder) {
  ::unlink(folder.result_file.c_str());
  ::unlink(folder.rollout_file.c_str());
  ::rmdir(folder.work_folder.c_str());
  std::error_code error;
  std::filesystem::remove_all(folder.home_folder, error);
}
}  // namespace corisco::rollouts
