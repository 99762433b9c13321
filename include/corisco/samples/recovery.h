// What a resumed run takes from its journal, besides the checkpoint: groups that are complete but
// not in the checkpoint's weights, rollouts that must run again, and where the numbering goes on.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "corisco/base/result.h"
#include "corisco/samples/journal.h"
#include "corisco/types/rollout.h"

namespace corisco::samples {
// Occurrences from here on were not drawn from the dataset: rollouts opened from outside.
inline constexpr std::uint64_t kDrawnOccurrencesMax = 1ULL << 40;

struct RolloutToRun {
  RolloutSpec spec;
  std::uint32_t next_attempt = 1;
  std::uint64_t salt = 0;              // of its last attempt: a restart does not change the draws
};

struct UnfinishedGroup {
  GroupId id;
  std::uint64_t task_occurrence = 0;
  std::uint32_t num_siblings = 0;
  PolicyVersion opened_at;
  std::vector<FinishedRollout> finished;   // by sibling, with their calls
  std::vector<RolloutToRun> to_run;        // by sibling; with finished fewer than num_siblings if the
                                           // daemon died while it opened the group
};

// Numbers continue above everything in the journal, also above what is void. Calls come without their texts:
// their rollouts have ended, and training looks at tokens alone.
struct Recovered {
  // Whole groups that no update at or below the checkpoint's version consumed, in the order in
  // which they are to be trained: first those of updates that are lost, as they were, then the
  // others by task occurrence. In synchronous mode the same updates are made again.
  std::vector<Group> ready;
  std::vector<UnfinishedGroup> unfinished;     // by task occurrence
  std::uint64_t next_rollout = 1, next_group = 1, next_call = 1;
  std::uint64_t next_task_occurrence = 0;
  std::uint64_t num_updates = 0;               // in the checkpoint's weights, skipped ones included
  std::vector<UpdatePublished> lost_updates;   // in force until now, not in the checkpoint's weights
  std::vector<UpdatePublished> void_updates;   // of lives before a resume, above the checkpoint's version
  std::uint64_t torn_bytes = 0;

  // For a run that draws unfinished groups again as new groups instead of going on with them.
  std::vector<std::uint64_t> occurrences_to_redo() const;
};

// checkpoint: the version that the run resumes from (0: the initial weights). Rollouts that ended
// because the daemon stopped (cancelled, daemon_restarted) count as not finished. A group whose
// task occurrence was opened again later is left out: the later one takes its place.
// A resuming run appends RunResumed, so that a later recovery knows which updates are void.
// Reads the journal twice, keeping only what it returns. not_found: there is no journal.
Result<Recovered> recover(const std::string& folder, PolicyVersion checkpoint);

// The same from any source of records: for_each is called for every record in order, twice.
using RecordSource = std::function<Result<ReadReport>(const std::function<void(const Record&)>& for_each)>;
Result<Recovered> recover(const RecordSource& source, PolicyVersion checkpoint);
}  // namespace corisco::samples
