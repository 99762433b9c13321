#include "corisco/samples/recovery.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "samples/survey.h"

namespace corisco::samples {
namespace {
// Where prompts are long, they take as much room as the tokens.
Call without_texts(Call call) {
  call.request_json = {};
  call.reply_text.clear();
  call.reply_text.shrink_to_fit();
  call.parse_errors.clear();
  call.base_request_bytes = 0;
  return call;
}

// The second reading: tokens of the rollouts that are wanted.
class Collector {
 public:
  Collector(const Survey& survey, const std::set<GroupId>& wanted) : survey_(survey), wanted_(wanted) {}

  void add(const Record& record) {
    if (const auto* opened = std::get_if<RolloutOpened>(&record)) {
      if (wants(opened->spec.id)) rollouts_[opened->spec.id].spec = opened->spec;
    } else if (const auto* recorded = std::get_if<CallRecorded>(&record)) {
      if (counts(recorded->call.attempt) && !ended_.contains(recorded->call.attempt.rollout))
        rollouts_[recorded->call.attempt.rollout].calls.push_back(without_texts(recorded->call));
    } else if (const auto* delivered = std::get_if<CallDelivered>(&record)) {
      if (counts(delivered->attempt)) mark(*delivered);
    } else if (const auto* finished = std::get_if<RolloutFinished>(&record)) {
      if (wants(finished->rollout.spec.id) && !is_end_by_stop(finished->rollout.outcome))
        take(finished->rollout);
    }
  }

  FinishedRollout take_rollout(RolloutId id) {
    FinishedRollout rollout = std::move(rollouts_[id]);
    std::sort(rollout.calls.begin(), rollout.calls.end(), [](const Call& a, const Call& b) {
      return std::tie(a.turn, a.choice) < std::tie(b.turn, b.choice);
    });
    return rollout;
  }

 private:
  bool wants(RolloutId id) const {
    const auto seen = survey_.rollouts.find(id);
    return seen != survey_.rollouts.end() && wanted_.contains(seen->second.group);
  }
  // Calls of superseded attempts, and of rollouts that run again, are left out.
  bool counts(AttemptKey key) const {
    if (!wants(key.rollout)) return false;
    const auto& seen = survey_.rollouts.at(key.rollout);
    return seen.is_finished && seen.attempt == key.attempt;
  }
  void mark(const CallDelivered& delivered) {
    for (Call& call : rollouts_[delivered.attempt.rollout].calls) {
      if (call.id != delivered.call) continue;
      call.is_delivered = call.is_delivered || delivered.is_delivered;
      call.state = delivered.state;
    }
  }
  void take(const FinishedRollout& finished) {
    FinishedRollout& kept = rollouts_[finished.spec.id];
    auto calls = std::move(kept.calls);
    kept = finished;
    kept.calls = std::move(calls);
    ended_.insert(finished.spec.id);
  }

  const Survey& survey_;
  const std::set<GroupId>& wanted_;
  std::unordered_map<RolloutId, FinishedRollout> rollouts_;
  std::set<RolloutId> ended_;            // what arrives later was refused
};

std::set<GroupId> wanted_groups(const Survey& survey, PolicyVersion checkpoint) {
  const auto consumed = survey.consumed_by(checkpoint);
  std::set<GroupId> wanted;
  for (const auto& [id, group] : survey.groups) {
    if (!consumed.contains(id) && !group.is_superseded) wanted.insert(id);
  }
  return wanted;
}

UnfinishedGroup unfinished_group(const Survey& survey, const Survey::SeenGroup& group, Collector& collector) {
  UnfinishedGroup unfinished;
  unfinished.id = group.opened.group;
  unfinished.task_occurrence = group.opened.task_occurrence;
  unfinished.num_siblings = group.opened.num_siblings;
  unfinished.opened_at = group.opened.policy_version;
  for (const auto& [sibling, id] : group.rollouts) {
    const auto& seen = survey.rollouts.at(id);
    FinishedRollout rollout = collector.take_rollout(id);
    if (seen.is_finished) {
      unfinished.finished.push_back(std::move(rollout));
    } else {
      unfinished.to_run.push_back({std::move(rollout.spec), seen.attempt + 1, seen.salt});
    }
  }
  return unfinished;
}

Group whole_group(const Survey::SeenGroup& group, Collector& collector) {
  Group whole;
  whole.id = group.opened.group;
  whole.task_occurrence = group.opened.task_occurrence;
  whole.opened_at = group.opened.policy_version;
  for (const auto& [sibling, id] : group.rollouts) whole.rollouts.push_back(collector.take_rollout(id));
  return whole;
}

// The complete ones among the wanted, in the order in which they are to be trained.
std::vector<GroupId> training_order(const Survey& survey, const std::set<GroupId>& wanted,
                                    PolicyVersion checkpoint) {
  std::vector<GroupId> order;
  std::set<GroupId> placed;
  const auto place = [&](GroupId id) {
    const auto seen = survey.groups.find(id);
    const bool fits = wanted.contains(id) && seen != survey.groups.end() && seen->second.is_complete();
    if (fits && placed.insert(id).second) order.push_back(id);
  };
  for (const GroupId id : survey.lost_after(checkpoint)) place(id);
  std::vector<GroupId> others(wanted.begin(), wanted.end());
  std::sort(others.begin(), others.end(), [&](GroupId a, GroupId b) {
    return std::tuple(survey.groups.at(a).opened.task_occurrence, a) <
           std::tuple(survey.groups.at(b).opened.task_occurrence, b);
  });
  for (const GroupId id : others) place(id);
  return order;
}
}  // namespace

std::vector<std::uint64_t> Recovered::occurrences_to_redo() const {
  std::vector<std::uint64_t> occurrences;
  for (const auto& group : unfinished) {
    if (group.task_occurrence < kDrawnOccurrencesMax) occurrences.push_back(group.task_occurrence);
  }
  return occurrences;
}

Result<Recovered> recover(const RecordSource& source, PolicyVersion checkpoint) {
  Survey survey;
  CORISCO_TRY(const ReadReport report, source([&](const Record& record) { survey.add(record); }));
  const auto wanted = wanted_groups(survey, checkpoint);
  Collector collector(survey, wanted);
  CORISCO_TRY(const ReadReport again, source([&](const Record& record) { collector.add(record); }));
  CORISCO_ASSERT(again.num_records >= report.num_records,
                 std::string("the journal shrank between two readings"));

  Recovered recovered;
  for (const GroupId id : training_order(survey, wanted, checkpoint)) {
    recovered.ready.push_back(whole_group(survey.groups.at(id), collector));
  }
  for (const GroupId id : wanted) {
    const auto& group = survey.groups.at(id);
    if (!group.is_complete()) recovered.unfinished.push_back(unfinished_group(survey, group, collector));
  }
  std::stable_sort(recovered.unfinished.begin(), recovered.unfinished.end(),
                   [](const auto& a, const auto& b) { return a.task_occurrence < b.task_occurrence; });
  recovered.next_rollout = survey.max_rollout + 1;
  recovered.next_group = survey.max_group + 1;
  recovered.next_call = survey.max_call + 1;
  recovered.next_task_occurrence = survey.next_task_occurrence;
  recovered.num_updates = survey.num_updates(checkpoint);
  recovered.lost_updates = survey.lost_updates(checkpoint);
  recovered.void_updates = survey.void_updates(checkpoint);
  recovered.torn_bytes = report.torn_bytes;
  return recovered;
}

Result<Recovered> recover(const std::string& folder, PolicyVersion checkpoint) {
  return recover([&](const auto& for_each) { return read_journal(folder, for_each); }, checkpoint);
}
}  // namespace corisco::samples
