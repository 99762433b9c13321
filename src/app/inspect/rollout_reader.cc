#include "app/inspect/rollout_reader.h"

#include <utility>

namespace corisco::app {
RolloutReader::RolloutReader(RolloutReaderPorts ports) : ports_(std::move(ports)) {
  const auto on_group = [this](std::unique_ptr<Group> group) {
    open_groups_.erase(group->id);
    ports_.on_group(std::move(group));
  };
  store_ = std::make_unique<samples::Store>(nullptr, on_group, ports_.on_evaluated);
}

void RolloutReader::add(const samples::Record& record) {
  std::visit([this](const auto& one) { take(one); }, record);
}

void RolloutReader::take(const samples::GroupOpened& record) {
  open_groups_.insert(record.group);
  check(store_->open_group(record.group, record.task_occurrence, record.num_siblings, record.policy_version));
}

void RolloutReader::take(const samples::RolloutOpened& record) {
  open_.emplace(record.spec.id, 0);
  check(store_->open_rollout(record.spec));
}

void RolloutReader::take(const samples::AttemptStarted& record) {
  auto& running = open_[record.attempt.rollout];
  drop_calls({record.attempt.rollout, running}, "attempt_repeated");
  running = record.attempt.attempt;
  check(store_->start_attempt(record.attempt, record.salt));
}

void RolloutReader::take(const samples::CallRecorded& record) {
  const auto& call = record.call;
  if (record.is_removed()) return ports_.on_removed(record);
  if (!call.attempt.rollout) return ports_.on_dropped(call, "unscoped");
  if (!store_->append(call).ok()) ports_.on_dropped(call, "refused");
}

void RolloutReader::take(const samples::CallDelivered& record) {
  store_->mark_delivered(record.call, record.attempt, record.is_delivered);
  store_->mark_state(record.call, record.attempt, record.state);
}

void RolloutReader::take(const samples::RolloutFinished& record) {
  const auto& finished = record.rollout;
  const auto id = finished.spec.id;
  if (finished.outcome == Outcome::cancelled || finished.outcome == Outcome::daemon_restarted) {
    drop_calls({id, open_[id]}, "daemon_stopped");
    open_[id] = 0;
    return ports_.on_stopped(finished);
  }
  open_.erase(id);
  check(store_->finish(finished));
}

// The daemon that wrote what is above is gone, and with it every attempt that it had under way. Groups and
// their finished rollouts are gone on with.
void RolloutReader::take(const samples::RunResumed&) { drop_running("daemon_died"); }

void RolloutReader::drop_running(const char* reason) {
  for (auto& [id, attempt] : open_) drop_calls({id, std::exchange(attempt, 0)}, reason);
}

void RolloutReader::drop_open(const char* reason) {
  drop_running(reason);
  for (const auto group : std::exchange(open_groups_, {}))
    for (auto& finished : store_->drop_group(group)) ports_.on_alone(std::move(finished));
}

void RolloutReader::drop_calls(AttemptKey attempt, const char* reason) {
  const auto* calls = store_->calls(attempt);
  if (calls == nullptr) return;
  for (const auto& call : *calls) ports_.on_dropped(call, reason);
}

void RolloutReader::check(const Result<void>& taken) {
  if (!taken.ok()) ports_.on_problem(taken.error().message);
}
}  // namespace corisco::app
