// Where a resumed run goes on: the checkpoint's version, and from the journal the groups that are
// complete but not in its weights.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/daemon_parts.h"
#include "corisco/base/json.h"
#include "corisco/base/log.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace {
// Sampled, in part, by weights that the checkpoint does not have.
bool is_from_lost_weights(const Group& group, PolicyVersion checkpoint) {
  for (const auto& rollout : group.rollouts)
    for (const auto& call : rollout.calls)
      for (const auto& token : call.tokens)
        if (token.policy_version > checkpoint) return true;
  return false;
}
}  // namespace

coordinator::Progress Daemon::Parts::recover() {
  coordinator::Progress progress_from;
  progress_from.version = facts.version;
  if (!recovered) return progress_from;
  auto& found = *recovered;
  const auto kept = parse_json(facts.restored_extra_json);
  if (kept.is_object() && kept.contains("held_out_reward_at_start")) {
    held_out_at_start = kept["held_out_reward_at_start"].get<double>();
    device->set_checkpoint_extra(facts.restored_extra_json);
  }
  controller->set_next_ids(found.next_rollout, found.next_group);
  progress_from.updates_done = found.num_updates;
  progress_from.next_occurrence = found.next_task_occurrence;
  progress_from.occurrences_to_redo = found.occurrences_to_redo();
  const auto slots = coordinator->num_free_slots();
  std::size_t num_adopted = 0;
  for (auto& group : found.ready) {
    if (num_adopted == slots || is_from_lost_weights(group, facts.version)) {
      progress_from.occurrences_to_redo.push_back(group.task_occurrence);
      continue;
    }
    ++num_adopted;
    coordinator->adopt_group(group.id, group.task_occurrence, group.opened_at);
    groups->push(std::make_unique<Group>(std::move(group)));
  }
  std::sort(progress_from.occurrences_to_redo.begin(), progress_from.occurrences_to_redo.end());
  journal->append(samples::RunResumed{facts.version}, {});
  log::info(cat("resumed at version ", facts.version, " from ", facts.restored_from, ": ", num_adopted,
                " finished groups wait for training, ", progress_from.occurrences_to_redo.size(), " are run again"));
  return progress_from;
}
}  // namespace corisco::app
