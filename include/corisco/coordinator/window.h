// Which groups may be open, and which of them the next update takes. Pure.
//
// With B = groups_per_update, A = policy_age_max and V the current version, a group opened at
// version v must be trained at a version of at most v + A (its deadline). An update takes the B
// complete groups with the earliest deadlines, and only if those that stay can all still be
// trained in time:
//     for every h >= 0:  #{open groups not taken, deadline <= V + h}  <=  h * B      (1)
// Otherwise it waits for a group to finish; nothing is dropped by age. With at most (A + 1) * B
// groups open, opened only while (1) holds for them, the wait always ends: once all open groups are
// complete, taking the earliest deadlines satisfies (1). Synchronous training is A = 0.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "corisco/base/id.h"

namespace corisco::coordinator {
struct WindowGroup {
  GroupId id;
  std::uint64_t task_occurrence = 0;
  PolicyVersion opened_at;
  bool is_complete = false;
};

struct WindowLimits {
  std::uint32_t groups_per_update = 1;   // B
  std::uint32_t groups_active_max = 1;   // at most (A + 1) * B
  std::uint32_t policy_age_max = 0;      // A
};

class Window {
 public:
  explicit Window(WindowLimits limits) : limits_(limits) {}
  // How many groups may be opened now.
  std::uint32_t num_free_slots() const;
  void open(GroupId id, std::uint64_t task_occurrence, PolicyVersion version);
  // The oldest version at which a group that is opened now may have been opened already (by an earlier
  // life of the run), so that the open groups can all still be trained in time: (1) after an update is
  //     for every h >= 0:  #{open groups, deadline <= V + h}  <=  (h + 1) * B      before it.
  PolicyVersion earliest_that_fits(PolicyVersion version) const;
  void complete(GroupId id);
  // The groups of the update that version would make, by task occurrence; none: wait.
  std::optional<std::vector<GroupId>> choose(PolicyVersion version) const;
  // They were trained: their slots are free.
  void release(const std::vector<GroupId>& ids);
  std::uint32_t num_active() const { return static_cast<std::uint32_t>(groups_.size()); }
  std::uint32_t num_complete() const;

 private:
  bool rest_is_in_time(const std::vector<GroupId>& taken, PolicyVersion version) const;
  WindowLimits limits_;
  std::vector<WindowGroup> groups_;      // in the order of opening
};
}  // namespace corisco::coordinator
