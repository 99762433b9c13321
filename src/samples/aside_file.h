// What will take the place of a file: written beside it, readable by its owner alone, and gone again unless
// it was put in place. One owner, any thread; blocking.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "corisco/base/result.h"

namespace corisco::samples {
class AsideFile {
 public:
  static Result<AsideFile> create(std::string path);  // an older one is overwritten
  AsideFile(AsideFile&& other) noexcept;
  AsideFile& operator=(AsideFile&&) = delete;
  ~AsideFile();  // deletes it, and unlocks

  Result<void> write(std::string_view bytes);  // behind what was written
  Result<void> sync();
  // Synced, locked as open_locked() does, and renamed to path, which it replaces; the descriptor is the
  // caller's. Until the caller has synced the folder, a power cut may bring the old file back.
  Result<int> put_in_place(const std::string& path);
  std::uint64_t size() const { return size_; }

 private:
  AsideFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  Result<void> write_waiting();
  Error failed(const char* what) const;

  int descriptor_ = -1;
  std::string path_;
  std::string waiting_;  // to be written, so that a file of small records takes few writes
  std::uint64_t size_ = 0;
};

// The file's descriptor, with flags, 0600 and locked. conflict: somebody else holds it.
Result<int> open_locked(const std::string& path, int flags);
}  // namespace corisco::samples
