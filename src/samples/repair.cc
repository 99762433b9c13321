#include "corisco/samples/repair.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <unordered_map>

#include "corisco/base/files.h"
#include "corisco/base/strings.h"
#include "samples/aside_file.h"
#include "samples/call_bases.h"
#include "samples/journal_format.h"
#include "samples/mapped_file.h"
#include "samples/record_codec.h"

namespace corisco::samples {
namespace {
// Takes the records that were found, in order, and writes those that still make sense.
class Salvage {
 public:
  Salvage(AsideFile& file, RepairReport& report) : file_(file), report_(report) {}

  Result<void> take(const Frame& frame) {
    CORISCO_TRY(Record record, decode(frame.type, frame.payload));
    if (auto* recorded = std::get_if<CallRecorded>(&record)) {
      if (!restore(*recorded)) {
        ++report_.num_dropped_calls;
        return {};
      }
    }
    if (const auto* update = std::get_if<UpdatePublished>(&record)) count_missing(*update);
    if (const auto* resumed = std::get_if<RunResumed>(&record)) last_version_ = resumed->policy_version.value;
    return write(record, frame.stamp.written_unix_seconds);
  }

 private:
  // Also where the start of the attempt is what was lost.
  bool restore(CallRecorded& record) {
    const Call& call = record.call;
    auto& attempt = attempts_[call.attempt.rollout];
    if (attempt < call.attempt.attempt) {
      attempt = call.attempt.attempt;
      read_.see(AttemptStarted{call.attempt, 0});
    }
    if (!read_.make_whole(record).ok()) return false;
    read_.see(record);
    return true;
  }
  void count_missing(const UpdatePublished& update) {
    const auto version = update.policy_version.value;
    if (last_version_ && version > *last_version_ + 1) report_.num_missing_updates += version - *last_version_ - 1;
    last_version_ = version;
  }
  Result<void> write(Record& record, std::uint32_t written_unix_seconds) {
    if (const auto* started = std::get_if<AttemptStarted>(&record)) {
      attempts_[started->attempt.rollout] = started->attempt.attempt;
    }
    if (!std::holds_alternative<CallRecorded>(record)) read_.see(record);
    written_.forget(record);
    if (auto* recorded = std::get_if<CallRecorded>(&record)) written_.check(*recorded);
    CORISCO_CHECK(file_.write(framed(type_of(record), {++report_.num_kept, written_unix_seconds}, encode(record))));
    written_.see(record);
    return {};
  }

  AsideFile& file_;
  RepairReport& report_;
  CallBases read_, written_;
  std::unordered_map<RolloutId, std::uint32_t> attempts_;
  std::optional<std::uint64_t> last_version_ = 0;
};

// A name that is free, so that no earlier damage is lost.
std::string damaged_name(const std::string& path) {
  std::string name = path + ".damaged";
  for (int number = 2; ::access(name.c_str(), F_OK) == 0; ++number) name = cat(path, ".damaged-", number);
  return name;
}

// The frames from begin on, whatever lies between them. A bad end that nothing follows is a torn tail.
Result<void> read_what_is_good(std::string_view bytes, std::size_t begin, Salvage& salvage, RepairReport& report) {
  const auto note = [&](std::size_t offset, std::uint64_t num_lost) {
    if (report.num_places++ == 0) report.first_offset = offset;
    report.num_lost += num_lost;
  };
  std::uint64_t last = 0;
  for (std::size_t at = begin; at < bytes.size();) {
    const auto found = find_frame(bytes, at, last);
    if (!found) break;
    const auto sequence = found->frame.stamp.sequence;
    if (found->offset != at || sequence != last + 1) note(at, sequence - last - 1);
    if (const auto taken = salvage.take(found->frame); !taken.ok()) {
      return Error{taken.error().code, cat("record ", sequence, " at offset ", found->offset, ": ",
                                           taken.error().message)};
    }
    last = sequence;
    at = found->offset + found->frame.bytes.size();
  }
  return {};
}

struct Beginning {
  std::string run_id;
  std::size_t length = 0;
  bool is_damaged = false;
};

// Of a journal whose head cannot be read, the run is its folder's name.
Result<Beginning> read_beginning(std::string_view bytes, const std::string& folder) {
  const auto head = read_head(bytes);
  if (head.ok() && head.value().length > 0) return Beginning{head.value().run_id, head.value().length, false};
  if (!find_frame(bytes, 0, 0)) {
    if (!head.ok()) return head.error();
    return Error{Code::invalid_argument, "it holds no record: there is nothing to keep"};
  }
  return Beginning{std::filesystem::absolute(folder).lexically_normal().filename().string(), 0, true};
}

Result<RepairReport> repair(const std::string& folder, const std::string& path, std::string_view bytes) {
  CORISCO_TRY(const Beginning beginning, read_beginning(bytes, folder));
  CORISCO_TRY(AsideFile file, AsideFile::create(cat(path, kAsideEnding)));
  RepairReport report;
  if (beginning.is_damaged) report.num_places = 1;
  CORISCO_CHECK(file.write(journal_head(beginning.run_id)));
  Salvage salvage(file, report);
  CORISCO_CHECK(read_what_is_good(bytes, beginning.length, salvage, report));
  if (report.num_places == 0 && report.num_dropped_calls == 0) return report;
  const std::string kept = damaged_name(path);
  // A second name of the same file: at no moment is there none under the first.
  if (::link(path.c_str(), kept.c_str()) != 0) {
    return Error{Code::unavailable, cat("could not keep the damaged file as ", kept, ": ", std::strerror(errno))};
  }
  CORISCO_TRY(const int descriptor, file.put_in_place(path));
  ::close(descriptor);
  CORISCO_CHECK(files::sync_folder(folder));
  report.damaged_file = kept;
  return report;
}
}  // namespace

Result<RepairReport> repair_journal(const std::string& folder) {
  const std::string path = cat(folder, "/", kJournalName);
  CORISCO_TRY(const int descriptor, open_locked(path, O_RDWR));
  auto mapped = MappedFile::map(descriptor, path);
  auto repaired = mapped.ok() ? repair(folder, path, mapped.value().bytes()) : Result<RepairReport>(mapped.error());
  ::close(descriptor);                   // and with it the lock
  if (!repaired.ok() && repaired.error().code == Code::invalid_argument) {
    return Error{repaired.error().code, cat(path, " is left as it was: ", repaired.error().message)};
  }
  return repaired;
}
}  // namespace corisco::samples
