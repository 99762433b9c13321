#include "corisco/coordinator/window.h"

#include <algorithm>

#include "corisco/base/strings.h"
#include "corisco/base/assert.h"

namespace corisco::coordinator {
std::uint32_t Window::num_free_slots() const {
  const auto active = num_active();
  return active >= limits_.groups_active_max ? 0 : limits_.groups_active_max - active;
}

void Window::open(GroupId id, std::uint64_t task_occurrence, PolicyVersion version) {
  CORISCO_ASSERT(num_free_slots() > 0, cat("group ", id, " opened over ", num_active(), " active ones"));
  groups_.push_back({id, task_occurrence, version, false});
}

PolicyVersion Window::earliest_that_fits(PolicyVersion version) const {
  const auto num_due_by = [&](std::uint64_t at) {
    return static_cast<std::uint64_t>(std::count_if(groups_.begin(), groups_.end(), [&](const WindowGroup& group) {
      return group.opened_at.value + limits_.policy_age_max <= at;
    }));
  };
  // One that is due at V + h counts at every later h too.
  std::uint64_t earliest_due = version.value + limits_.policy_age_max;
  for (std::uint64_t ahead = limits_.policy_age_max; ahead-- > 0;) {
    if (num_due_by(version.value + ahead) + 1 > (ahead + 1) * limits_.groups_per_update) break;
    earliest_due = version.value + ahead;
  }
  return PolicyVersion{std::max(earliest_due, std::uint64_t{limits_.policy_age_max}) - limits_.policy_age_max};
}

void Window::complete(GroupId id) {
  const auto found = std::find_if(groups_.begin(), groups_.end(),
                                  [&](const WindowGroup& group) { return group.id == id; });
  CORISCO_ASSERT(found != groups_.end() && !found->is_complete, cat("group ", id, " completed"));
  found->is_complete = true;
}

std::uint32_t Window::num_complete() const {
  return static_cast<std::uint32_t>(
      std::count_if(groups_.begin(), groups_.end(), [](const WindowGroup& group) { return group.is_complete; }));
}

std::optional<std::vector<GroupId>> Window::choose(PolicyVersion version) const {
  std::vector<WindowGroup> complete;
  std::copy_if(groups_.begin(), groups_.end(), std::back_inserter(complete),
               [](const WindowGroup& group) { return group.is_complete; });
  if (complete.size() < limits_.groups_per_update) return std::nullopt;
  std::stable_sort(complete.begin(), complete.end(), [](const WindowGroup& a, const WindowGroup& b) {
    return std::pair(a.opened_at, a.task_occurrence) < std::pair(b.opened_at, b.task_occurrence);
  });
  complete.resize(limits_.groups_per_update);
  std::sort(complete.begin(), complete.end(), [](const WindowGroup& a, const WindowGroup& b) {
    return a.task_occurrence < b.task_occurrence;
  });
  std::vector<GroupId> taken;
  for (const auto& group : complete) taken.push_back(group.id);
  if (!rest_is_in_time(taken, version)) return std::nullopt;
  return taken;
}

bool Window::rest_is_in_time(const std::vector<GroupId>& taken, PolicyVersion version) const {
  const auto num_due_by = [&](std::uint64_t at) {
    return static_cast<std::uint64_t>(std::count_if(groups_.begin(), groups_.end(), [&](const WindowGroup& group) {
      const bool stays = std::find(taken.begin(), taken.end(), group.id) == taken.end();
      return stays && group.opened_at.value + limits_.policy_age_max <= at;
    }));
  };
  for (std::uint64_t ahead = 0; ahead <= limits_.policy_age_max + 1; ++ahead) {
    if (num_due_by(version.value + ahead) > ahead * limits_.groups_per_update) return false;
  }
  return true;
}

void Window::release(const std::vector<GroupId>& ids) {
  std::erase_if(groups_, [&](const WindowGroup& group) {
    return std::find(ids.begin(), ids.end(), group.id) != ids.end();
  });
}
}  // namespace corisco::coordinator
