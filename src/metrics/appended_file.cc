#include "metrics/appended_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "corisco/base/files.h"
#include "corisco/base/strings.h"

namespace corisco::metrics {
namespace {
constexpr std::size_t kWaitingBytesMax = 1U << 20;

Error failed(const char* what, const std::string& path) {
  return Error{Code::unavailable, cat("could not ", what, " ", path, ": ", std::strerror(errno))};
}
}  // namespace

Result<AppendedFile> AppendedFile::open(std::string path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) return failed("open", path);
  const auto end = ::lseek(descriptor, 0, SEEK_END);
  AppendedFile file(descriptor, std::move(path), end < 0 ? 0 : static_cast<std::uint64_t>(end));
  if (end < 0) return failed("find the end of", file.path_);
  return file;
}

AppendedFile::AppendedFile(AppendedFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      end_(other.end_),
      waiting_(std::move(other.waiting_)) {}

AppendedFile& AppendedFile::operator=(AppendedFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  std::swap(end_, other.end_);
  std::swap(waiting_, other.waiting_);
  return *this;
}

AppendedFile::~AppendedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> AppendedFile::append(std::string_view piece) {
  if (waiting_.size() + piece.size() > kWaitingBytesMax) waiting_.clear();
  waiting_ += piece;
  if (files::write_all_at(descriptor_, waiting_, end_) < waiting_.size()) {
    Error error = failed("write to", path_);
    // If that fails too, the next try writes over it.
    if (::ftruncate(descriptor_, static_cast<off_t>(end_)) != 0) error.message += ", nor cut it";
    return error;
  }
  end_ += waiting_.size();
  waiting_.clear();
  return {};
}
}  // namespace corisco::metrics
