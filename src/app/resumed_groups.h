// Groups of a resumed run that an earlier life left: whole ones that wait for training, and open ones with
// some rollouts finished. They are gone on with when their tasks' turn comes, if they were sampled from
// weights that the run has: the checkpoint's or older, or lost ones that were made again bit for bit.
// Lost updates are made again one by one from the groups that they consumed, so that in an asynchronous run
// too no group meets weights before those that sampled it. Owned by the io thread. Pure.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "corisco/samples/recovery.h"
#include "corisco/types/sample.h"

namespace corisco::app {
class ResumedGroups {
 public:
  ResumedGroups() = default;
  // Takes the groups out of found.
  ResumedGroups(samples::Recovered& found, PolicyVersion checkpoint);

  // Task occurrences of all of them, ascending: in synchronous mode the order of their updates.
  std::vector<std::uint64_t> occurrences() const;
  // An update of this life: lost weights were made again if number and checksum are those of the journal.
  void update_made(const UpdateReport& report);
  // The next update is to be made again, and was made without this task's group.
  bool is_for_later(std::uint64_t occurrence) const;

  // What is left of this task's group, for the weights of version and no older than opened_at_least (both
  // as coordinator::CoordinatorPorts::open_group says). monostate: nothing, its task is to be run anew.
  using Left = std::variant<std::monostate, Group, samples::UnfinishedGroup>;
  Left take(std::uint64_t occurrence, PolicyVersion version, PolicyVersion opened_at_least);

  std::size_t num_whole() const { return whole_.size(); }
  std::size_t num_unfinished() const { return unfinished_.size(); }
  // Of the unfinished groups.
  std::size_t num_finished_rollouts() const;

 private:
  struct LostUpdate {
    PolicyVersion policy_version;        // after it
    bool was_skipped = false;
    std::set<std::uint64_t> occurrences; // of the groups that it consumed
  };
  void note_weights(const UpdateReport& report);
  void go_on_in_line(const UpdateReport& report);
  bool fits(PolicyVersion opened_at, PolicyVersion newest, PolicyVersion version, PolicyVersion opened_at_least) const;

  std::map<std::uint64_t, Group> whole_;                         // by task occurrence
  std::map<std::uint64_t, samples::UnfinishedGroup> unfinished_;
  PolicyVersion made_;                   // up to here the weights are those of the journal
  std::multimap<PolicyVersion, std::uint64_t> lost_;             // checksums by version, of every earlier life
  std::deque<LostUpdate> line_;          // the last life's, to be made again; empty once one came out otherwise
};
}  // namespace corisco::app
