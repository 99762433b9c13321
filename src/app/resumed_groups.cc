#include "app/resumed_groups.h"

#include <algorithm>

#include "corisco/base/log.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace {
// Of the weights that any token of these was sampled from.
PolicyVersion newest_version(const std::vector<FinishedRollout>& rollouts) {
  PolicyVersion newest;
  for (const auto& rollout : rollouts)
    for (const auto& call : rollout.calls)
      for (const auto& token : call.tokens) newest = std::max(newest, token.policy_version);
  return newest;
}

void log_dropped(GroupId id, std::uint64_t occurrence) {
  log::info(cat("group ", id, " (task occurrence ", occurrence,
                ") was sampled from weights that were lost, or is too old by now: its task is run again"));
}
}  // namespace

ResumedGroups::ResumedGroups(samples::Recovered& found, PolicyVersion checkpoint) : made_(checkpoint) {
  std::map<GroupId, std::uint64_t> occurrence_of;
  for (const auto& group : found.ready) occurrence_of.emplace(group.id, group.task_occurrence);
  for (const auto& update : found.lost_updates) {
    auto& lost = line_.emplace_back(LostUpdate{update.policy_version, update.was_skipped, {}});
    for (const auto id : update.groups)
      if (occurrence_of.contains(id)) lost.occurrences.insert(occurrence_of.at(id));
  }
  for (auto& group : found.ready) whole_.emplace(group.task_occurrence, std::move(group));
  for (auto& group : found.unfinished) unfinished_.emplace(group.task_occurrence, std::move(group));
  found.ready.clear();
  found.unfinished.clear();
  for (const auto* updates : {&found.lost_updates, &found.void_updates})
    for (const auto& update : *updates)
      if (!update.was_skipped) lost_.emplace(update.policy_version, update.weights_checksum);
}

std::vector<std::uint64_t> ResumedGroups::occurrences() const {
  std::vector<std::uint64_t> occurrences;
  for (const auto& [occurrence, group] : whole_) occurrences.push_back(occurrence);
  for (const auto& [occurrence, group] : unfinished_) occurrences.push_back(occurrence);
  std::erase_if(occurrences, [](std::uint64_t occurrence) { return occurrence >= samples::kDrawnOccurrencesMax; });
  std::sort(occurrences.begin(), occurrences.end());
  return occurrences;
}

void ResumedGroups::update_made(const UpdateReport& report) {
  note_weights(report);
  go_on_in_line(report);
}

void ResumedGroups::go_on_in_line(const UpdateReport& report) {
  if (line_.empty()) return;
  const auto& lost = line_.front();
  const bool is_same = report.was_skipped == lost.was_skipped && report.policy_version == lost.policy_version &&
                       made_ == report.policy_version;
  if (is_same) line_.pop_front();
  else line_.clear();
}

bool ResumedGroups::is_for_later(std::uint64_t occurrence) const {
  return !line_.empty() && !line_.front().occurrences.contains(occurrence);
}

void ResumedGroups::note_weights(const UpdateReport& report) {
  if (report.was_skipped || report.policy_version.value != made_.value + 1) return;
  const auto [first, last] = lost_.equal_range(report.policy_version);
  const bool is_same = first != last && report.weights_checksum != 0 && std::all_of(first, last, [&](const auto& lost) {
    return lost.second == report.weights_checksum;
  });
  if (is_same) made_ = report.policy_version;
}

bool ResumedGroups::fits(PolicyVersion opened_at, PolicyVersion newest, PolicyVersion version,
                         PolicyVersion opened_at_least) const {
  return newest <= version && newest <= made_ && std::min(opened_at, version) >= opened_at_least;
}

ResumedGroups::Left ResumedGroups::take(std::uint64_t occurrence, PolicyVersion version,
                                        PolicyVersion opened_at_least) {
  if (auto whole = whole_.extract(occurrence)) {
    Group& group = whole.mapped();
    if (fits(group.opened_at, newest_version(group.rollouts), version, opened_at_least)) return std::move(group);
    log_dropped(group.id, occurrence);
  } else if (auto open = unfinished_.extract(occurrence)) {
    samples::UnfinishedGroup& group = open.mapped();
    if (fits(group.opened_at, newest_version(group.finished), version, opened_at_least)) return std::move(group);
    log_dropped(group.id, occurrence);
  }
  return {};
}

std::size_t ResumedGroups::num_finished_rollouts() const {
  std::size_t count = 0;
  for (const auto& [occurrence, group] : unfinished_) count += group.finished.size();
  return count;
}
}  // namespace corisco::app
