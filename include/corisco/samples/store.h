// Open rollouts and groups: what was sampled and how it ended, until a whole group is handed on.
// Owned by the io thread. It journals openings, attempts, deliveries and ends; a call is journaled
// by whoever waits until it is durable.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "corisco/base/result.h"
#include "corisco/samples/journal.h"
#include "corisco/types/rollout.h"

namespace corisco::samples {
class Store {
 public:
  // on_group: receives each training group once, when its last rollout has finished, its rollouts
  // by sibling and their calls by (turn, choice). on_evaluated: each validation rollout. Both are
  // called last, so that they may call the store again. journal may be null.
  using OnGroup = std::function<void(std::unique_ptr<Group>)>;
  using OnEvaluated = std::function<void(FinishedRollout)>;
  Store(Journal* journal, OnGroup on_group, OnEvaluated on_evaluated);

  // num_siblings rollouts of this group will be opened. conflict if it is open already.
  Result<void> open_group(GroupId id, std::uint64_t task_occurrence, std::uint32_t num_siblings,
                          PolicyVersion version);
  // A training rollout needs its group to be open (not_found) and its sibling to be new in it (conflict).
  Result<void> open_rollout(const RolloutSpec& spec);
  // The same of a group that an earlier life of the daemon left open, with those of its rollouts that had
  // finished, and of one that had not, whose attempts up to attempts_before were made. The journal has
  // their openings already.
  Result<void> reopen_group(Group so_far, std::uint32_t num_siblings);
  Result<void> reopen_rollout(const RolloutSpec& spec, std::uint32_t attempts_before);
  // Later than every earlier attempt, else conflict. Calls of earlier attempts are dropped from
  // the rollout (the journal keeps them). salt: of the attempt's sampling key.
  Result<void> start_attempt(AttemptKey attempt, std::uint64_t salt = 0);
  // Of a call that is to be recorded: its experts share what equals those of the call that it goes on from,
  // mostly all of the latter's, so that an attempt holds each token's once.
  void share_experts(Call& call);
  // not_found once the rollout is finished or the attempt superseded: what it sends is refused.
  // conflict for a call that is there already, by id or by (turn, choice).
  Result<void> append(Call call);
  // True once is true for good. Ignored if the call's group was handed on or its attempt superseded.
  void mark_delivered(CallId id, AttemptKey attempt, bool is_delivered);
  // superseded: its request was made again and sampled anew; side: it was beside the task; several_models:
  // its attempt uses several names. merge() trains none of them, delivered or not. Ignored as mark_delivered.
  void mark_state(CallId id, AttemptKey attempt, CallState state);
  // Calls so far of the running attempt, by (turn, choice); null if it does not run.
  const std::vector<Call>* calls(AttemptKey attempt) const;
  // Terminal once: conflict on a second one, and for an end of a superseded attempt. The outcome,
  // reward and note come in finished; its spec and calls are the store's own.
  // invalid_argument: a trained outcome without a finite reward.
  Result<void> finish(FinishedRollout finished);
  // Forgets an open group that will not be completed, with its rollouts; those of them that had finished.
  std::vector<FinishedRollout> drop_group(GroupId id);

  std::size_t num_open_groups() const { return groups_.size(); }
  std::size_t num_open_rollouts() const { return rollouts_.size(); }

 private:
  struct OpenRollout {
    RolloutSpec spec;
    std::uint32_t attempt = 0;         // the latest; 0: none yet
    bool is_running = false;           // it began in this process
    std::vector<Call> calls;           // of that attempt, by (turn, choice)
  };
  struct OpenGroup {
    Group group;                       // those that have finished
    std::map<std::uint32_t, RolloutId> opened;  // by sibling
    std::uint32_t num_siblings = 0;
  };
  void journal(Record record);
  Result<void> admit(const RolloutSpec& spec, std::uint32_t attempt);
  OpenRollout* running(AttemptKey attempt);
  Call* find_call(CallId id, AttemptKey attempt);
  void add_to_group(FinishedRollout finished);

  Journal* journal_;
  OnGroup on_group_;
  OnEvaluated on_evaluated_;
  std::map<GroupId, OpenGroup> groups_;
  std::unordered_map<RolloutId, OpenRollout> rollouts_;
};
}  // namespace corisco::samples
