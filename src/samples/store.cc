#include "corisco/samples/store.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "corisco/base/strings.h"

namespace corisco::samples {
namespace {
std::string name_of(AttemptKey attempt) {
  return cat("attempt ", attempt.attempt, " of rollout ", attempt.rollout);
}

bool comes_before(const Call& a, const Call& b) {
  return std::tie(a.turn, a.choice) < std::tie(b.turn, b.choice);
}

std::string trouble_with(const FinishedRollout& finished) {
  if (!is_trained(finished.outcome)) return "";
  if (!finished.reward) return cat("the end ", to_string(finished.outcome), " needs a reward");
  return std::isfinite(*finished.reward) ? "" : cat("a reward of ", *finished.reward, " is not finite");
}
}  // namespace

Store::Store(Journal* journal, OnGroup on_group, OnEvaluated on_evaluated)
    : journal_(journal), on_group_(std::move(on_group)), on_evaluated_(std::move(on_evaluated)) {}

Result<void> Store::open_group(GroupId id, std::uint64_t task_occurrence, std::uint32_t num_siblings,
                               PolicyVersion version) {
  if (num_siblings == 0) return Error{Code::invalid_argument, cat("group ", id, " of no rollouts")};
  const auto [place, is_new] = groups_.try_emplace(id);
  if (!is_new) return Error{Code::conflict, cat("group ", id, " is open already")};
  OpenGroup& open = place->second;
  open.group.id = id;
  open.group.task_occurrence = task_occurrence;
  open.group.opened_at = version;
  open.num_siblings = num_siblings;
  journal(GroupOpened{id, task_occurrence, num_siblings, version});
  return {};
}

Result<void> Store::reopen_group(Group so_far, std::uint32_t num_siblings) {
  const GroupId id = so_far.id;
  if (so_far.rollouts.size() >= num_siblings)
    return Error{Code::invalid_argument, cat("group ", id, " has ", so_far.rollouts.size(), " ends of ", num_siblings)};
  const auto [place, is_new] = groups_.try_emplace(id);
  if (!is_new) return Error{Code::conflict, cat("group ", id, " is open already")};
  OpenGroup& open = place->second;
  open.num_siblings = num_siblings;
  for (const auto& rollout : so_far.rollouts) open.opened.emplace(rollout.spec.sibling, rollout.spec.id);
  open.group = std::move(so_far);
  return {};
}

Result<void> Store::open_rollout(const RolloutSpec& spec) {
  CORISCO_CHECK(admit(spec, 0));
  journal(RolloutOpened{spec});
  return {};
}

Result<void> Store::reopen_rollout(const RolloutSpec& spec, std::uint32_t attempts_before) {
  return admit(spec, attempts_before);
}

Result<void> Store::admit(const RolloutSpec& spec, std::uint32_t attempt) {
  if (rollouts_.contains(spec.id)) return Error{Code::conflict, cat("rollout ", spec.id, " is open already")};
  if (spec.mode == Mode::train) {
    const auto group = groups_.find(spec.group);
    if (group == groups_.end()) {
      return Error{Code::not_found, cat("rollout ", spec.id, ": its group ", spec.group, " is not open")};
    }
    OpenGroup& open = group->second;
    if (spec.sibling >= open.num_siblings) {
      return Error{Code::invalid_argument, cat("rollout ", spec.id, ": sibling ", spec.sibling,
                                               " of a group of ", open.num_siblings)};
    }
    if (!open.opened.emplace(spec.sibling, spec.id).second) {
      return Error{Code::conflict,
                   cat("sibling ", spec.sibling, " of group ", spec.group, " is there already")};
    }
  }
  OpenRollout& open = rollouts_[spec.id];
  open.spec = spec;
  open.attempt = attempt;
  return {};
}

Result<void> Store::start_attempt(AttemptKey attempt, std::uint64_t salt) {
  const auto found = rollouts_.find(attempt.rollout);
  if (found == rollouts_.end())
    return Error{Code::not_found, cat("rollout ", attempt.rollout, " is not open")};
  OpenRollout& open = found->second;
  if (attempt.attempt <= open.attempt) {
    return Error{Code::conflict, cat(name_of(attempt), " comes after attempt ", open.attempt)};
  }
  open.attempt = attempt.attempt;
  open.is_running = true;
  open.calls.clear();
  journal(AttemptStarted{attempt, salt});
  return {};
}

void Store::share_experts(Call& call) {
  const Call* base = call.base ? find_call(call.base, call.attempt) : nullptr;
  const bool is_whole = call.routed_experts.num_own() == call.routed_experts.size();
  if (base == nullptr || !is_whole) return;
  const auto common = base->routed_experts.common_with(call.routed_experts.own());
  if (common == 0) return;
  call.routed_experts =
      SharedPrefix<std::uint16_t>::extend(base->routed_experts, common, call.routed_experts.tail(common));
}

Result<void> Store::append(Call call) {
  OpenRollout* open = running(call.attempt);
  if (open == nullptr) return Error{Code::not_found, cat(name_of(call.attempt), " does not run")};
  const auto place = std::upper_bound(open->calls.begin(), open->calls.end(), call, comes_before);
  const bool is_taken = place != open->calls.begin() && !comes_before(*std::prev(place), call);
  if (is_taken || find_call(call.id, call.attempt) != nullptr) {
    return Error{Code::conflict, cat("call ", call.id, " (turn ", call.turn, ", choice ", call.choice,
                                     ") of ", name_of(call.attempt), " is there already")};
  }
  open->calls.insert(place, std::move(call));
  return {};
}

void Store::mark_delivered(CallId id, AttemptKey attempt, bool is_delivered) {
  Call* call = find_call(id, attempt);
  if (call == nullptr || call->is_delivered) return;
  call->is_delivered = is_delivered;
  journal(CallDelivered{id, attempt, is_delivered, call->state});
}

void Store::mark_state(CallId id, AttemptKey attempt, CallState state) {
  Call* call = find_call(id, attempt);
  if (call == nullptr || call->state == state) return;
  call->state = state;
  journal(CallDelivered{id, attempt, call->is_delivered, state});
}

const std::vector<Call>* Store::calls(AttemptKey attempt) const {
  const auto found = rollouts_.find(attempt.rollout);
  const bool runs = found != rollouts_.end() && found->second.attempt == attempt.attempt;
  return runs ? &found->second.calls : nullptr;
}

Result<void> Store::finish(FinishedRollout finished) {
  const RolloutId id = finished.spec.id;
  const auto found = rollouts_.find(id);
  if (found == rollouts_.end())
    return Error{Code::conflict, cat("rollout ", id, " is finished or was never open")};
  OpenRollout& open = found->second;
  if (open.attempt != 0 && finished.attempt != open.attempt) {
    return Error{Code::conflict, cat(name_of({id, finished.attempt}), " is superseded by ", open.attempt)};
  }
  if (const auto trouble = trouble_with(finished); !trouble.empty()) {
    return Error{Code::invalid_argument, cat("rollout ", id, ": ", trouble)};
  }
  finished.spec = std::move(open.spec);
  finished.calls.clear();
  journal(RolloutFinished{finished});
  finished.calls = std::move(open.calls);
  rollouts_.erase(found);
  if (finished.spec.mode == Mode::val) {
    on_evaluated_(std::move(finished));
  } else {
    add_to_group(std::move(finished));
  }
  return {};
}

std::vector<FinishedRollout> Store::drop_group(GroupId id) {
  std::vector<FinishedRollout> finished;
  if (const auto open = groups_.find(id); open != groups_.end()) {
    finished = std::move(open->second.group.rollouts);
    groups_.erase(open);
  }
  std::erase_if(rollouts_, [id](const auto& entry) {
    return entry.second.spec.mode == Mode::train && entry.second.spec.group == id;
  });
  return finished;
}

void Store::add_to_group(FinishedRollout finished) {
  const auto place = groups_.find(finished.spec.group);
  CORISCO_ASSERT(place != groups_.end(), cat("rollout ", finished.spec.id, " without its group"));
  auto& rollouts = place->second.group.rollouts;
  rollouts.push_back(std::move(finished));
  if (rollouts.size() < place->second.num_siblings) return;
  std::sort(rollouts.begin(), rollouts.end(),
            [](const auto& a, const auto& b) { return a.spec.sibling < b.spec.sibling; });
  auto whole = std::make_unique<Group>(std::move(place->second.group));
  groups_.erase(place);
  on_group_(std::move(whole));
}

void Store::journal(Record record) {
  if (journal_ != nullptr) journal_->append(std::move(record), {});   // kept until it is written
}

Store::OpenRollout* Store::running(AttemptKey attempt) {
  const auto found = rollouts_.find(attempt.rollout);
  const bool runs = found != rollouts_.end() && found->second.is_running && found->second.attempt == attempt.attempt;
  return runs ? &found->second : nullptr;
}

// Also among the finished rollouts of groups that are still open: the last byte of a last reply may
// be reported after its rollout's end.
Call* Store::find_call(CallId id, AttemptKey attempt) {
  const auto among = [id](std::vector<Call>& calls) {
    const auto found =
        std::find_if(calls.begin(), calls.end(), [id](const Call& call) { return call.id == id; });
    return found == calls.end() ? nullptr : &*found;
  };
  if (OpenRollout* open = running(attempt)) return among(open->calls);
  for (auto& [group, open] : groups_) {
    for (auto& finished : open.group.rollouts) {
      if (finished.spec.id == attempt.rollout && finished.attempt == attempt.attempt)
        return among(finished.calls);
    }
  }
  return nullptr;
}
}  // namespace corisco::samples
