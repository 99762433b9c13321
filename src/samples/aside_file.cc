#include "samples/aside_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "corisco/base/files.h"
#include "corisco/base/strings.h"

namespace corisco::samples {
namespace {
constexpr std::size_t kWriteBytes = 1U << 20;

// Whether the path still leads to the open file: it may have been replaced between open and lock.
bool leads_to(const std::string& path, int descriptor) {
  struct stat of_path {};
  struct stat of_file {};
  return ::stat(path.c_str(), &of_path) == 0 && ::fstat(descriptor, &of_file) == 0 &&
         of_path.st_ino == of_file.st_ino && of_path.st_dev == of_file.st_dev;
}
}  // namespace

Result<int> open_locked(const std::string& path, int flags) {
  const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    const Code code = errno == ENOENT ? Code::not_found : Code::unavailable;
    return Error{code, cat("could not open ", path, ": ", std::strerror(errno))};
  }
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && leads_to(path, descriptor)) return descriptor;
  const bool is_taken = errno == EWOULDBLOCK || !leads_to(path, descriptor);
  const Error error = is_taken
      ? Error{Code::conflict, cat(path, " is in use by another daemon: stop it, or choose another run.name")}
      : Error{Code::unavailable, cat("could not lock ", path, ": ", std::strerror(errno))};
  ::close(descriptor);
  return error;
}

Result<AsideFile> AsideFile::create(std::string path) {
  ::unlink(path.c_str());
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  AsideFile file(descriptor, std::move(path));
  if (descriptor < 0) return file.failed("create");
  return file;
}

AsideFile::AsideFile(AsideFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      waiting_(std::move(other.waiting_)),
      size_(other.size_) {}

AsideFile::~AsideFile() {
  if (descriptor_ < 0) return;
  ::unlink(path_.c_str());
  ::close(descriptor_);
}

Result<void> AsideFile::write(std::string_view bytes) {
  waiting_ += bytes;
  size_ += bytes.size();
  return waiting_.size() < kWriteBytes ? Result<void>{} : write_waiting();
}

Result<void> AsideFile::write_waiting() {
  if (files::write_all(descriptor_, waiting_) < waiting_.size()) return failed("write to");
  waiting_.clear();
  return {};
}

Result<void> AsideFile::sync() {
  CORISCO_CHECK(write_waiting());
  if (::fsync(descriptor_) != 0) return failed("sync");
  return {};
}

Result<int> AsideFile::put_in_place(const std::string& path) {
  CORISCO_CHECK(sync());
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) return failed("lock");
  if (std::rename(path_.c_str(), path.c_str()) != 0) return failed("rename");
  return std::exchange(descriptor_, -1);
}

Error AsideFile::failed(const char* what) const {
  return Error{Code::unavailable, cat("could not ", what, " ", path_, ": ", std::strerror(errno))};
}
}  // namespace corisco::samples
