// A file that is written from its beginning and synced to the disk; and syncing one that is there.
#pragma once
#include <cstddef>
#include <string>
#include <utility>

#include "corisco/base/result.h"

namespace corisco::trainer {
class DurableFile {
 public:
  static Result<DurableFile> create(const std::string& path);
  DurableFile(DurableFile&& other) noexcept
      : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  DurableFile& operator=(DurableFile&&) = delete;
  ~DurableFile();

  Result<void> write(const void* bytes, std::size_t count);
  Result<void> sync();

 private:
  DurableFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string path_;
  int fd_;
};

Result<void> sync_file(const std::string& path);
}  // namespace corisco::trainer
