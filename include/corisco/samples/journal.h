// The run's append-only truth: every call, delivery, reward and end, in order, checksummed.
// Written by one thread (write() has returned when an append's completion runs), readable after
// kill -9; a torn tail is cut on opening, damage before it is an error that names the offset.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

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
};
struct CallDelivered {
  CallId call;
  AttemptKey attempt;
  bool is_delivered = false;
};
struct RolloutFinished {               // calls are left out: they are records of their own
  FinishedRollout rollout;
};
struct UpdatePublished {
  PolicyVersion policy_version;        // after it; a skipped update repeats the version before it
  std::vector<GroupId> groups;         // that it consumed
  std::string checkpoint;              // folder, if one was written at this version
};
struct RunResumed {                    // updates above this version are void from here on
  PolicyVersion policy_version;        // of the checkpoint
};
using Record = std::variant<GroupOpened, RolloutOpened, AttemptStarted, CallRecorded, CallDelivered,
                            RolloutFinished, UpdatePublished, RunResumed>;

// Format 1, little-endian. A file header
//   ["CORISCOJ"][u32 format][u32 length of the run id][run id][u32 crc32c of all that]
// then records, type 1 being GroupOpened and so on in the order above,
//   [u32 length of payload][u32 crc32c of length, type, sequence and payload]
//   [u8 type][u64 sequence, from 1][payload]
// with the payload's fields in the order of src/samples/record_codec.cc.
class Journal {
 public:
  // Creates or continues folder/journal.bin, mode 0600, locked against a second daemon (conflict).
  // conflict too if it belongs to another run. metrics may be null.
  static Result<std::unique_ptr<Journal>> open(const std::string& folder, const std::string& run_id,
                                               metrics::Registry* metrics = nullptr);
  // Writes and syncs what waits.
  virtual ~Journal() = default;
  // Any thread. Queues the record; done runs on the writer's thread after write() returned, with
  // the error if it failed (the file is then as if the record had never been appended). done may
  // be empty, must not block, and must not call flush. Never blocks the caller: when 64 MiB wait,
  // done gets overloaded at once, on the caller's thread.
  virtual void append(Record record, std::function<void(Result<void>)> done) = 0;
  // Returns when everything appended before is written and synced, or failed.
  virtual Result<void> flush() = 0;
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
}  // namespace corisco::samples
