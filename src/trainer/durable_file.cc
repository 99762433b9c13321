#include "trainer/durable_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "corisco/base/files.h"
#include "corisco/base/strings.h"

namespace corisco::trainer {
namespace {
Error failed(const std::string& what, const std::string& path) {
  return Error{Code::unavailable, cat("could not ", what, " ", path, ": ", std::strerror(errno))};
}
}  // namespace

Result<DurableFile> DurableFile::create(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return failed("create", path);
  return DurableFile(path, fd);
}

DurableFile::~DurableFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<void> DurableFile::write(const void* bytes, std::size_t count) {
  if (files::write_all(fd_, {static_cast<const char*>(bytes), count}) < count) return failed("write", path_);
  return {};
}

Result<void> DurableFile::sync() {
  if (::fsync(fd_) != 0) return failed("sync", path_);
  return {};
}

Result<void> sync_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed("open", path);
  const bool is_synced = ::fsync(fd) == 0;
  const Error error = failed("sync", path);
  ::close(fd);
  if (!is_synced) return error;
  return {};
}
}  // namespace corisco::trainer
