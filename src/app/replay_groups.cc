#include "app/replay_groups.h"

#include "app/inspect/rollout_reader.h"
#include "corisco/base/strings.h"

namespace corisco::app {
Result<Groups> read_groups(const samples::RecordSource& source, const std::set<GroupId>& wanted) {
  Groups groups;
  std::set<AttemptKey> removed;
  RolloutReaderPorts ports;
  ports.on_group = [&](std::unique_ptr<Group> group) {
    if (wanted.contains(group->id)) groups[group->id] = std::move(group);
  };
  ports.on_evaluated = [](const FinishedRollout&) {};
  ports.on_removed = [&](const samples::CallRecorded& recorded) { removed.insert(recorded.call.attempt); };
  RolloutReader reader(std::move(ports));
  CORISCO_TRY(const samples::ReadReport read, source([&](const samples::Record& record) { reader.add(record); }));
  for (const auto id : wanted) {
    const auto found = groups.find(id);
    if (found == groups.end())
      return Error{Code::conflict,
                   cat("group ", id, " is not whole among the journal's ", read.num_records, " records")};
    for (const auto& rollout : found->second->rollouts)
      if (removed.contains({rollout.spec.id, rollout.attempt}))
        return Error{Code::conflict, cat("the prompts and replies of group ", id,
                                         " were removed for their age (samples.retention_days)")};
  }
  return groups;
}
}  // namespace corisco::app
