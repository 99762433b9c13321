// journal.bin as a file that only grows by whole batches of frames: opened, locked, checked and
// cut to its last good record. Blocking; owned by the journal's writer thread once open.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "corisco/base/result.h"
#include "samples/aside_file.h"

namespace corisco::samples {
class JournalFile {
 public:
  static Result<JournalFile> open(const std::string& folder, const std::string& run_id);
  JournalFile(JournalFile&& other) noexcept;
  JournalFile& operator=(JournalFile&&) = delete;
  ~JournalFile();  // unlocks

  // All of the bytes or, on an error, none of them: what was half written is cut off again.
  Result<void> write(std::string_view frames);
  // After a failed sync the kernel may have dropped what it could not write: the file is done for,
  // and every later write and sync gets the same error.
  Result<void> sync();

  // A rewritten beginning of the file, as far as `covered`: gets what was written since, and replaces it.
  // After an error the file is as it was, unless the folder could not be synced: then it is done for.
  Result<void> replace_with(AsideFile aside, std::uint64_t covered);

  const std::string& path() const { return path_; }
  std::uint64_t size() const { return end_; }
  std::uint64_t last_sequence() const { return last_sequence_; }  // when it was opened
  std::uint64_t torn_bytes() const { return torn_bytes_; }

 private:
  JournalFile(int descriptor, std::string folder, std::string path)
      : descriptor_(descriptor), folder_(std::move(folder)), path_(std::move(path)) {}
  Result<void> recover(const std::string& run_id);
  Result<void> create_head(const std::string& run_id);
  Result<void> cut_to(std::uint64_t end);
  Error failed(const char* what) const;

  int descriptor_ = -1;
  std::string folder_, path_;
  std::uint64_t end_ = 0;
  std::uint64_t last_sequence_ = 0;
  std::uint64_t torn_bytes_ = 0;
  std::string broken_;  // why it takes nothing any more
};
}  // namespace corisco::samples
