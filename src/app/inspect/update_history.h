// Which updates made the weights of a run, as its journal tells it: a resume makes those above its
// checkpoint's version void. Pure; one owner.
#pragma once
#include <map>
#include <vector>

#include "corisco/base/result.h"
#include "corisco/samples/journal.h"

namespace corisco::app {
struct MadeUpdate {
  samples::UpdatePublished record;
  bool is_void = false;                // its weights were lost
  bool makes(PolicyVersion version) const { return !record.was_skipped && record.policy_version == version; }
};

class UpdateHistory {
 public:
  // Of every record in order; the others are ignored.
  void add(const samples::Record& record);

  // In the journal's order, void and skipped ones too.
  const std::vector<MadeUpdate>& updates() const { return updates_; }
  // Of the one in force that made this version; not_found or conflict, with why.
  Result<std::size_t> maker_of(PolicyVersion version) const;
  // The indices of those in force that led from weights that had learnt from so many to updates()[last].
  // Skipped ones count: they move the schedule on.
  std::vector<std::size_t> made_after(std::uint64_t num_updates, std::size_t last) const;
  // Where the weights of this version were saved, in force; empty: nowhere.
  std::string checkpoint_of(PolicyVersion version) const;

 private:
  void take(const samples::UpdatePublished& record);
  void make_void(std::uint64_t from_version);
  std::vector<MadeUpdate> updates_;
  std::map<PolicyVersion, std::string> saved_;
};
}  // namespace corisco::app
