#include "samples/survey.h"

#include <algorithm>
#include <iterator>

#include "corisco/samples/recovery.h"

namespace corisco::samples {
bool is_end_by_stop(Outcome outcome) {
  return outcome == Outcome::cancelled || outcome == Outcome::daemon_restarted;
}

void Survey::add(const Record& record) {
  std::visit([this](const auto& one) { take(one); }, record);
}

void Survey::take(const GroupOpened& record) {
  max_group = std::max(max_group, record.group.value);
  if (record.task_occurrence < kDrawnOccurrencesMax) {
    next_task_occurrence = std::max(next_task_occurrence, record.task_occurrence + 1);
  }
  const auto [earlier, is_first] = by_occurrence_.try_emplace(record.task_occurrence, record.group);
  if (!is_first) {
    groups[earlier->second].is_superseded = true;
    earlier->second = record.group;
  }
  groups[record.group].opened = record;
}

void Survey::take(const RolloutOpened& record) {
  const RolloutSpec& spec = record.spec;
  max_rollout = std::max(max_rollout, spec.id.value);
  SeenRollout& rollout = rollouts[spec.id];
  if (spec.mode == Mode::val) return;
  const auto group = groups.find(spec.group);
  if (group == groups.end()) return;
  rollout.group = spec.group;
  group->second.rollouts[spec.sibling] = spec.id;
}

void Survey::take(const AttemptStarted& record) {
  max_rollout = std::max(max_rollout, record.attempt.rollout.value);
  SeenRollout& rollout = rollouts[record.attempt.rollout];
  rollout.attempt = record.attempt.attempt;
  rollout.salt = record.salt;
}

void Survey::take(const CallRecorded& record) {
  max_call = std::max(max_call, record.call.id.value);
  max_rollout = std::max(max_rollout, record.call.attempt.rollout.value);
}

void Survey::take(const RolloutFinished& record) {
  max_rollout = std::max(max_rollout, record.rollout.spec.id.value);
  SeenRollout& rollout = rollouts[record.rollout.spec.id];
  if (rollout.is_finished || is_end_by_stop(record.rollout.outcome)) return;
  rollout.is_finished = true;
  // The end says it again, in case the disk was full when the attempt began.
  rollout.attempt = std::max(rollout.attempt, record.rollout.attempt);
  if (const auto group = groups.find(rollout.group); group != groups.end()) ++group->second.num_finished;
}

void Survey::take(const UpdatePublished& record) {
  // A version below the last one tells of a resume that could not be journaled. The same version
  // again is a skipped update or a checkpoint.
  if (!updates_.empty() && record.policy_version < updates_.back().policy_version) {
    make_void(record.policy_version.value);
  }
  updates_.push_back(record);
}

void Survey::take(const RunResumed& record) { make_void(record.policy_version.value + 1); }

void Survey::make_void(std::uint64_t from_version) {
  const auto first = std::find_if(updates_.begin(), updates_.end(), [from_version](const auto& update) {
    return update.policy_version.value >= from_version;
  });
  void_updates_.insert(void_updates_.end(), first, updates_.end());
  updates_.erase(first, updates_.end());
}

std::set<GroupId> Survey::consumed_by(PolicyVersion checkpoint) const {
  std::set<GroupId> consumed;
  for (const auto& update : updates_) {
    if (update.policy_version <= checkpoint) consumed.insert(update.groups.begin(), update.groups.end());
  }
  return consumed;
}

std::vector<GroupId> Survey::lost_after(PolicyVersion checkpoint) const {
  // The line in force comes first: it is the one that was just lost. Older lines are void since
  // before it, and what it did not train of theirs comes after.
  std::vector<GroupId> lost;
  for (const auto& update : updates_) {
    if (update.policy_version > checkpoint)
      lost.insert(lost.end(), update.groups.begin(), update.groups.end());
  }
  for (const auto& update : void_updates_)
    lost.insert(lost.end(), update.groups.begin(), update.groups.end());
  return lost;
}

namespace {
std::vector<UpdatePublished> made_after(const std::vector<UpdatePublished>& updates, PolicyVersion checkpoint) {
  std::vector<UpdatePublished> made;
  std::copy_if(updates.begin(), updates.end(), std::back_inserter(made), [&](const auto& update) {
    return update.policy_version > checkpoint && !update.groups.empty();
  });
  return made;
}
}  // namespace

std::vector<UpdatePublished> Survey::lost_updates(PolicyVersion checkpoint) const {
  return made_after(updates_, checkpoint);
}

std::vector<UpdatePublished> Survey::void_updates(PolicyVersion checkpoint) const {
  return made_after(void_updates_, checkpoint);
}

std::uint64_t Survey::num_updates(PolicyVersion checkpoint) const {
  return static_cast<std::uint64_t>(std::count_if(updates_.begin(), updates_.end(), [&](const auto& update) {
    return update.policy_version <= checkpoint && !update.groups.empty();
  }));
}
}  // namespace corisco::samples
