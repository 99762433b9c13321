// Which records of a journal are old enough to lose their texts and tokens, and the file without them.
// Rollouts' fates are read from the journal itself, as a recovery reads them. Any thread; blocking.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>

#include "corisco/base/result.h"
#include "corisco/samples/journal.h"
#include "samples/aside_file.h"
#include "samples/survey.h"

namespace corisco::samples {
// A first reading of all records; then it says of each whether its content may go. Calls of an attempt go
// together, when its last one is old: what is left never goes on from what is gone.
class OldContent {
 public:
  explicit OldContent(const Retention& retention) : retention_(retention) {}
  void add(const Record& record, RecordStamp stamp);
  void end_of_records();
  bool may_go(const Record& record, RecordStamp stamp) const;

 private:
  bool is_old(RecordStamp stamp) const { return stamp.written_unix_seconds < retention_.before_unix_seconds; }
  bool is_over(AttemptKey attempt, RecordStamp last_call) const;
  bool is_settled(RolloutId rollout) const;

  Retention retention_;
  Survey survey_;
  std::set<GroupId> consumed_;
  std::map<AttemptKey, RecordStamp> last_calls_;
  std::uint64_t last_resume_ = 0;        // its sequence
};

// The record without what it holds of prompts, replies, tasks and notes. False: there was nothing.
bool remove_content(Record& record);

// The first `end` bytes of the journal, rewritten; none if nothing in them is to be removed. Records keep
// their sequences and times, and those that stay whole their bytes.
struct Rewritten {
  AsideFile file;
  std::uint64_t covered_bytes = 0;       // of the old file
  Removed removed;
};
Result<std::optional<Rewritten>> rewrite_without_old(const std::string& path, std::uint64_t end,
                                                     const Retention& retention, const std::stop_token& stop);
}  // namespace corisco::samples
