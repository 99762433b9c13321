// The first reading of a journal: which groups and rollouts there were and how far they came,
// without their texts and tokens. Private to recovery.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "corisco/samples/journal.h"

namespace corisco::samples {
class Survey {
 public:
  struct SeenRollout {
    GroupId group;  // none: a validation rollout
    std::uint32_t attempt = 0;
    std::uint64_t salt = 0;
    bool is_finished = false;
  };
  struct SeenGroup {
    GroupOpened opened;
    std::map<std::uint32_t, RolloutId> rollouts;  // by sibling
    std::uint32_t num_finished = 0;
    bool is_superseded = false;  // its task occurrence was opened again
    bool is_complete() const { return num_finished == opened.num_siblings; }
  };

  void add(const Record& record);
  // Groups that the weights of this version have learnt from.
  std::set<GroupId> consumed_by(PolicyVersion checkpoint) const;
  // Groups in the order of the lost updates that consumed them.
  std::vector<GroupId> lost_after(PolicyVersion checkpoint) const;
  // Those updates: in force until now, above the checkpoint's version.
  std::vector<UpdatePublished> lost_updates(PolicyVersion checkpoint) const;
  // Those that earlier resumes made void.
  std::vector<UpdatePublished> void_updates(PolicyVersion checkpoint) const;
  std::uint64_t num_updates(PolicyVersion checkpoint) const;

  std::map<GroupId, SeenGroup> groups;
  std::unordered_map<RolloutId, SeenRollout> rollouts;
  std::uint64_t max_rollout = 0, max_group = 0, max_call = 0, next_task_occurrence = 0;

 private:
  void take(const GroupOpened& record);
  void take(const RolloutOpened& record);
  void take(const AttemptStarted& record);
  void take(const CallRecorded& record);
  void take(const CallDelivered&) {}
  void take(const RolloutFinished& record);
  void take(const UpdatePublished& record);
  void take(const RunResumed& record);
  void make_void(std::uint64_t from_version);

  std::vector<UpdatePublished> updates_;       // of the line of weights in force
  std::vector<UpdatePublished> void_updates_;  // of lines that a resume left
  std::unordered_map<std::uint64_t, GroupId> by_occurrence_;
};

// The daemon's own stop, which says nothing about the rollout.
bool is_end_by_stop(Outcome outcome);
}  // namespace corisco::samples
