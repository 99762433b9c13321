#include "app/inspect/update_history.h"

#include <algorithm>

#include "corisco/base/strings.h"

namespace corisco::app {
void UpdateHistory::add(const samples::Record& record) {
  if (const auto* published = std::get_if<samples::UpdatePublished>(&record)) {
    take(*published);
  } else if (const auto* resumed = std::get_if<samples::RunResumed>(&record)) {
    make_void(resumed->policy_version.value + 1);
  }
}

// A version below the last one tells of a resume that could not be journaled.
void UpdateHistory::take(const samples::UpdatePublished& record) {
  const auto last =
      std::find_if(updates_.rbegin(), updates_.rend(), [](const auto& update) { return !update.is_void; });
  if (last != updates_.rend() && record.policy_version < last->record.policy_version)
    make_void(record.policy_version.value);
  if (!record.checkpoint.empty()) saved_[record.policy_version] = record.checkpoint;
  if (!record.groups.empty()) updates_.push_back({record, false});
}

void UpdateHistory::make_void(std::uint64_t from_version) {
  for (auto& update : updates_) update.is_void |= update.record.policy_version.value >= from_version;
  saved_.erase(saved_.lower_bound(PolicyVersion{from_version}), saved_.end());
}

Result<std::size_t> UpdateHistory::maker_of(PolicyVersion version) const {
  bool was_made = false;
  PolicyVersion newest;
  for (std::size_t i = updates_.size(); i-- > 0;) {
    const auto& update = updates_[i];
    if (update.makes(version) && !update.is_void) return i;
    was_made |= update.makes(version);
    if (!update.is_void) newest = std::max(newest, update.record.policy_version);
  }
  if (was_made)
    return Error{Code::conflict, cat("the update that made version ", version, " is void: the run was resumed from an "
                                     "earlier checkpoint, and has not made this version again")};
  return Error{Code::not_found, cat("no update made version ", version, ": the journal's newest is ", newest,
                                    version.value == 0 ? ", and 0 are the initial weights" : "")};
}

std::vector<std::size_t> UpdateHistory::made_after(std::uint64_t num_updates, std::size_t last) const {
  std::vector<std::size_t> made;
  for (std::size_t i = 0; i <= last; ++i) {
    if (updates_[i].is_void) continue;
    if (num_updates > 0) --num_updates;
    else made.push_back(i);
  }
  return made;
}

std::string UpdateHistory::checkpoint_of(PolicyVersion version) const {
  const auto saved = saved_.find(version);
  return saved == saved_.end() ? "" : saved->second;
}
}  // namespace corisco::app
