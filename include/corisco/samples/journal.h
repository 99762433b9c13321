// The run's append-only truth: every call, delivery, reward and end, in order, checksummed.
// Written by one thread (write() has returned when an append's completion runs; in strict mode the disk
// has it too), readable after kill -9; a torn tail is cut on opening, damage before it is an error that
// names the offset and the remedy.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "corisco/base/clock.h"
#include "corisco/base/result.h"
#include "corisco/types/rollout.h"

namespace corisco::metrics {
class Registry;
}

namespace corisco::samples {
struct GroupOpened {
  GroupId group;
  std::uint64_t task_occurrence = 0;
  std::uint32_t num_siblings = 0;
  PolicyVersion policy_version;
};
struct RolloutOpened {
  RolloutSpec spec;
};
struct AttemptStarted {
  AttemptKey attempt;
  std::uint64_t salt = 0;
};
struct CallRecorded {
  Call call;
  // How long its prompt and reply were, if they were removed for their age.
  std::uint32_t removed_prompt_tokens = 0, removed_tokens = 0;
  // How many of its routed_experts are the first ones of its base's, and need not be stored again.
  std::uint64_t base_experts = 0;
  bool is_removed() const { return removed_prompt_tokens + removed_tokens > 0; }
};
struct CallDelivered {
  CallId call;
  AttemptKey attempt;
  bool is_delivered = false;
  CallState state = CallState::used;   // now; superseded, side and several_models may be told later
};
struct RolloutFinished {               // calls are left out: they are records of their own
  FinishedRollout rollout;
};
struct UpdatePublished {
  PolicyVersion policy_version;        // after it; a skipped update repeats the version before it
  std::vector<GroupId> groups;         // that it consumed
  std::string checkpoint;              // folder, if one was written at this version
  bool was_skipped = false;
  std::uint64_t weights_checksum = 0;  // of the weights after it; 0: not taken
};
struct RunResumed {                    // updates above this version are void from here on
  PolicyVersion policy_version;        // of the checkpoint
};
using Record = std::variant<GroupOpened, RolloutOpened, AttemptStarted, CallRecorded, CallDelivered,
                            RolloutFinished, UpdatePublished, RunResumed>;

// Format 2. A file header, little-endian,
//   ["CORISCOJ"][u32 format][u32 length of the run id][run id][u32 crc32c of all that]
// then records, type 1 being GroupOpened and so on in the order above,
//   [u32 length of payload][u32 crc32c of what follows and of the length]
//   [u8 type][u64 sequence, from 1][u32 seconds since 1970 when it was written][payload]
// with the payload's fields in the order of src/samples/record_codec.cc. A call that goes on from an
// earlier one (Call::base) holds what it adds; reading gives whole calls, which share their beginnings.
enum class Durability : std::uint8_t {
  normal,  // a record is done when write() has returned: no kill loses it. Synced every 100 ms.
  strict,  // when it is on the disk: no power cut loses it either. All that waits shares one sync.
};

struct JournalOptions {
  Durability durability = Durability::normal;
  metrics::Registry* metrics = nullptr;  // may be null
  const Clock* clock = &real_clock();
  // Records that nobody waits for could not be written for kept_seconds_max, or never will be: what is trained
  // from now on may be trained again after a resume. Called once, on any thread; must not block.
  std::function<void(std::string why)> on_stuck{};
  double kept_seconds_max = 60;
};

// Whose texts and tokens may be removed: calls, tasks and notes last written before a time, of rollouts
// that no resume from this checkpoint or a later one needs: consumed by an update in its weights,
// validation, never to be finished, or outside any rollout. What was recorded of them otherwise stays.
struct Retention {
  double before_unix_seconds = 0;
  PolicyVersion oldest_checkpoint;
};
struct Removed {
  std::uint64_t num_records = 0;         // that lost their content; 0: the file is as it was
  std::uint64_t bytes = 0;               // by which the file shrank
};

class Journal {
 public:
  // Creates or continues folder/journal.bin, mode 0600, locked against a second daemon (conflict).
  // conflict too if it belongs to another run.
  static Result<std::unique_ptr<Journal>> open(const std::string& folder, const std::string& run_id,
                                               const JournalOptions& options = {});
  // Writes and syncs what waits.
  virtual ~Journal() = default;
  // Any thread. Queues the record; done runs on the writer's thread once it is durable in the mode,
  // with the error if the write failed (the file is then as if the record had never been appended, and
  // the next one is tried again) or the sync did (the file takes nothing more). done must not block, and must
  // not call flush. Never blocks the caller: when 64 MiB wait, done gets overloaded at once, on the caller's
  // thread. A record without done is kept if its write fails, and tried again before all that come after it.
  virtual void append(Record record, std::function<void(Result<void>)> done) = 0;
  // done as append's, once everything appended before is durable in the mode, or could not be written now.
  virtual void when_kept(std::function<void(Result<void>)> done) = 0;
  // Returns when everything appended before is written and synced, or failed. The error of a write that failed
  // since the last flush is told once; while a record that is kept cannot be written, each flush tells it.
  virtual Result<void> flush() = 0;
  // Rewrites the file aside without old content, on a thread of its own while appends go on, and puts it
  // in the old one's place. done runs on the writer's thread, or with cancelled if the journal closes
  // first; conflict if one is under way. A kill at any moment leaves the old file or the new one.
  virtual void remove_old(Retention retention, std::function<void(Result<Removed>)> done) = 0;
  // What open() cut off the end.
  virtual std::uint64_t torn_bytes() const = 0;
};

// Calls for_each for every whole record in order. Reports how many bytes of a torn tail were left
// out. Also of a journal that is being written. not_found: there is none.
struct ReadReport {
  std::string run_id;
  std::uint64_t num_records = 0;
  std::uint64_t torn_bytes = 0;
};
Result<ReadReport> read_journal(const std::string& folder,
                                const std::function<void(const Record&)>& for_each);
// The same, with where and when the record was written.
struct RecordStamp {
  std::uint64_t sequence = 0;              // from 1
  std::uint32_t written_unix_seconds = 0;
};
Result<ReadReport> read_journal(const std::string& folder,
                                const std::function<void(const Record&, RecordStamp)>& for_each);
}  // namespace corisco::samples
