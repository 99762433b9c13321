// A file that grows by whole pieces. What a full disk left half written is cut off; what it did not take waits
// and is written before the next piece. One owner thread; blocking.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "corisco/base/result.h"

namespace corisco::metrics {
class AppendedFile {
 public:
  // Behind what is there, or a new file.
  static Result<AppendedFile> open(std::string path);
  AppendedFile(AppendedFile&& other) noexcept;
  AppendedFile& operator=(AppendedFile&& other) noexcept;
  ~AppendedFile();

  // The error says why nothing was written. More than a megabyte does not wait: what did is then given up.
  Result<void> append(std::string_view piece);
  std::uint64_t size() const { return end_; }

 private:
  AppendedFile(int descriptor, std::string path, std::uint64_t end)
      : descriptor_(descriptor), path_(std::move(path)), end_(end) {}

  int descriptor_ = -1;
  std::string path_;
  std::uint64_t end_ = 0;                // of the last whole piece
  std::string waiting_;
};
}  // namespace corisco::metrics
