#include "samples/journal_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "corisco/base/files.h"
#include "corisco/base/strings.h"
#include "samples/journal_format.h"
#include "samples/mapped_file.h"

namespace corisco::samples {
Result<JournalFile> JournalFile::open(const std::string& folder, const std::string& run_id) {
  std::string path = cat(folder, "/", kJournalName);
  CORISCO_TRY(const int descriptor, open_locked(path, O_RDWR | O_CREAT));
  ::unlink(cat(path, kAsideEnding).c_str());   // of a rewriting that was killed
  JournalFile file(descriptor, folder, std::move(path));
  CORISCO_CHECK(file.recover(run_id));
  return file;
}

JournalFile::JournalFile(JournalFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      folder_(std::move(other.folder_)),
      path_(std::move(other.path_)),
      end_(other.end_),
      last_sequence_(other.last_sequence_),
      torn_bytes_(other.torn_bytes_),
      broken_(std::move(other.broken_)) {}

JournalFile::~JournalFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

// Finds the end of the last good record and cuts what a kill left behind it.
Result<void> JournalFile::recover(const std::string& run_id) {
  CORISCO_TRY(const MappedFile mapped, MappedFile::map(descriptor_, path_));
  const auto bytes = mapped.bytes();
  const auto refused = [this](const Error& error) {
    return Error{error.code, cat(path_, ": ", error.message)};
  };
  const auto head = read_head(bytes);
  if (!head.ok()) return refused(head.error());
  if (head.value().length == 0) {
    torn_bytes_ = bytes.size();
    return create_head(run_id);
  }
  if (head.value().run_id != run_id) {
    return Error{Code::conflict,
                 cat(path_, " belongs to run \"", head.value().run_id, "\", not to \"", run_id, "\"")};
  }
  const auto frames = read_frames(bytes, head.value().length, [](const Frame&) { return Result<void>{}; });
  if (!frames.ok()) return refused({frames.error().code, cat(frames.error().message, repair_hint(folder_))});
  end_ = frames.value().end;
  last_sequence_ = frames.value().last_sequence;
  torn_bytes_ = bytes.size() - end_;
  if (torn_bytes_ == 0) return {};
  CORISCO_CHECK(cut_to(end_));
  return sync();
}

Result<void> JournalFile::create_head(const std::string& run_id) {
  CORISCO_CHECK(cut_to(0));
  CORISCO_CHECK(write(journal_head(run_id)));
  CORISCO_CHECK(sync());
  return files::sync_folder(folder_);
}

Result<void> JournalFile::write(std::string_view frames) {
  if (!broken_.empty()) return Error{Code::unavailable, broken_};
  if (files::write_all_at(descriptor_, frames, end_) < frames.size()) {
    const Error error = failed("write to");
    if (auto cut = cut_to(end_); !cut.ok()) broken_ = cut.error().message;
    return error;
  }
  end_ += frames.size();
  return {};
}

Result<void> JournalFile::sync() {
  if (!broken_.empty()) return Error{Code::unavailable, broken_};
  if (::fdatasync(descriptor_) == 0) return {};
  const Error error = failed("sync");
  broken_ = error.message;
  return error;
}

Result<void> JournalFile::replace_with(AsideFile aside, std::uint64_t covered) {
  if (!broken_.empty()) return Error{Code::unavailable, broken_};
  {
    CORISCO_TRY(const MappedFile mapped, MappedFile::map(descriptor_, path_));
    CORISCO_CHECK(aside.write(mapped.bytes().substr(covered, end_ - covered)));
  }
  const std::uint64_t size = aside.size();
  CORISCO_TRY(const int descriptor, aside.put_in_place(path_));
  ::close(std::exchange(descriptor_, descriptor));
  end_ = size;
  auto synced = files::sync_folder(folder_);
  if (!synced.ok()) broken_ = synced.error().message;
  return synced;
}

Result<void> JournalFile::cut_to(std::uint64_t end) {
  if (::ftruncate(descriptor_, static_cast<off_t>(end)) != 0) return failed("cut");
  return {};
}

Error JournalFile::failed(const char* what) const {
  return Error{Code::unavailable, cat("could not ", what, " ", path_, ": ", std::strerror(errno))};
}
}  // namespace corisco::samples
