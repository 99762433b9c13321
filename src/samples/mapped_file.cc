#include "samples/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "corisco/base/strings.h"

namespace corisco::samples {
namespace {
Error failed(const char* what, const std::string& path) {
  const Code code = errno == ENOENT ? Code::not_found : Code::unavailable;
  return Error{code, cat("could not ", what, " ", path, ": ", std::strerror(errno))};
}
}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return failed("open", path);
  auto mapped = map(descriptor, path);
  ::close(descriptor);
  return mapped;
}

Result<MappedFile> MappedFile::map(int descriptor, const std::string& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return failed("look at", path);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return MappedFile(std::string_view{});
  void* start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (start == MAP_FAILED) return failed("map", path);
  return MappedFile(std::string_view(static_cast<const char*>(start), size));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}
}  // namespace corisco::samples
