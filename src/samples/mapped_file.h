// A file's bytes as they are at the moment of opening, read-only, without copying them.
// One owner. The file may grow meanwhile; it must not shrink.
#pragma once
#include <string>
#include <string_view>
#include <utility>

#include "corisco/base/result.h"

namespace corisco::samples {
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  // Of an open descriptor, which stays the caller's.
  static Result<MappedFile> map(int descriptor, const std::string& path);
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedFile();
  std::string_view bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::string_view bytes) : bytes_(bytes) {}
  std::string_view bytes_;
};
}  // namespace corisco::samples
