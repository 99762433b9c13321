// A rollout's output: a pipe that the harness writes to, copied into a file up to a limit; the
// rest is read, dropped and counted, so that a harness never blocks or dies of it.
// Owned by the supervisor's only thread.
#pragma once
#include <cstdint>
#include <string>

#include "corisco/base/result.h"
#include "rollouts/file_descriptor.h"

namespace corisco::rollouts {
class OutputFile {
 public:
  static Result<OutputFile> create(const std::string& path, std::uint64_t bytes_max);
  int write_end() const { return write_end_.get(); }
  int read_end() const { return read_end_.get(); }
  void close_write_end() { write_end_.reset(); }
  // Copies what there is; closes the read end at its end.
  void copy_available();
  // Copies the rest and notes what was dropped.
  void finish();

 private:
  void keep(const char* bytes, std::size_t count);
  FileDescriptor read_end_, write_end_, file_;
  std::uint64_t bytes_left_ = 0;
  std::uint64_t bytes_dropped_ = 0;
};
}  // namespace corisco::rollouts
