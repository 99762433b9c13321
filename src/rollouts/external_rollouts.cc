// Rollouts whose harnesses run elsewhere: opened or taken over HTTP, finished there, and read.
#include <utility>

#include "corisco/base/strings.h"
#include "rollouts/controller_state.h"

namespace corisco::rollouts {
namespace {
Error stopping() { return {Code::cancelled, "the daemon is stopping"}; }
std::string name_of(AttemptKey attempt) { return cat("rollout ", attempt.rollout, " attempt ", attempt.attempt); }
}  // namespace

// Queued. For validation alone, since it has no siblings.
Result<OpenRollout*> Controller::State::open_for_caller(std::string task_json) {
  if (is_stopping) return stopping();
  const RolloutId id{next_rollout};
  CORISCO_TRY(Task task, parse_task(std::move(task_json), cat("external-", id)));
  ++next_rollout;
  OpenRollout rollout;
  rollout.spec = {id, GroupId{}, id.value, 0, Mode::val, task.id, task.json};
  rollout.is_external = true;
  rollout.can_retry = rollout.is_of_run = false;
  CORISCO_CHECK(open(std::move(rollout)));
  return find({id, 1});
}

Result<Controller::External> Controller::State::start_external(OpenRollout& rollout) {
  const AttemptKey attempt = rollout.key();
  const Mode mode = rollout.spec.mode;
  const std::string task_json = rollout.spec.task_json;
  start_attempt(rollout);              // which may end it
  const OpenRollout* started = find(attempt);
  if (started == nullptr) return Error{Code::unavailable, "the attempt could not be opened; see the log"};
  return External{attempt, started->api_key, mode, task_json};
}

// As if its harness were a process here that exited so.
Result<void> Controller::State::end_external(AttemptKey attempt, int exit_status, const std::string& reason) {
  OpenRollout* rollout = find(attempt);
  const bool runs = rollout != nullptr && rollout->is_external && rollout->state == RolloutState::running;
  if (!runs)
    return Error{Code::conflict, cat(name_of(attempt), " is not a running rollout that was opened from outside")};
  on_harness_end(*rollout, {attempt, ProcessEnd::How::exited, exit_status, reason});
  return {};
}

RolloutStatus Controller::State::status_of(const OpenRollout& rollout) const {
  RolloutStatus status;
  status.attempt = rollout.key();
  status.mode = rollout.spec.mode;
  status.state = rollout.state;
  status.is_of_run = rollout.is_of_run;
  status.task_json = rollout.spec.task_json;
  status.opened_unix_seconds = rollout.opened_unix_seconds;
  status.changed_unix_seconds = rollout.changed_unix_seconds;
  return status;
}

// Of the attempt, which may be tried again.
void Controller::State::log_end(const OpenRollout& rollout, const Verdict& verdict) {
  if (!rollout.is_external) return;
  auto status = status_of(rollout);
  status.state = RolloutState::finished;
  status.changed_unix_seconds = parts.clock->unix_seconds();
  status.outcome = verdict.outcome;
  status.reward = verdict.reward;
  status.note = verdict.note;
  ended_elsewhere.add(std::move(status));
}

Result<Controller::External> Controller::open_external(std::string task_json) {
  CORISCO_TRY(OpenRollout * opened, state_->open_for_caller(std::move(task_json)));
  return state_->start_external(*opened);
}

Result<Controller::External> Controller::take_waiting() {
  if (!state_->parts.config->rollouts.harness.external) {
    return Error{Code::conflict,
                 "the daemon starts the harnesses itself: set rollouts.harness.external, or give a task"};
  }
  for (auto& [id, rollout] : state_->rollouts) {
    if (rollout.state == RolloutState::queued && rollout.is_of_run) return state_->start_external(rollout);
  }
  return Error{Code::conflict, "no rollout waits for a harness now: ask again in a moment"};
}

Result<AttemptKey> Controller::open_waiting(std::string task_json) {
  CORISCO_TRY(const OpenRollout* opened, state_->open_for_caller(std::move(task_json)));
  return opened->key();
}

Result<void> Controller::start_waiting(AttemptKey attempt) {
  OpenRollout* rollout = state_->find(attempt);
  if (rollout == nullptr || !rollout->is_external || rollout->state != RolloutState::queued) {
    return Error{Code::conflict, cat(name_of(attempt), " does not wait for a harness that runs elsewhere")};
  }
  if (state_->is_stopping) return stopping();
  const auto started = state_->start_external(*rollout);
  if (!started.ok()) return started.error();
  return {};
}

Result<void> Controller::finish_external(AttemptKey attempt) { return state_->end_external(attempt, 0, {}); }

Result<void> Controller::fail_external(AttemptKey attempt, const std::string& reason) {
  return state_->end_external(attempt, 1, reason);
}

Result<void> Controller::drop_external(AttemptKey attempt) {
  OpenRollout* rollout = state_->find(attempt);
  if (rollout != nullptr) {
    const bool can_end = rollout->is_external && !rollout->is_of_run && rollout->state != RolloutState::grading;
    if (!can_end) return Error{Code::conflict, cat(name_of(attempt), " is one of the run's, or is being graded")};
    state_->cancel(*rollout, "it was deleted over HTTP");
  }
  state_->ended_elsewhere.forget(attempt);
  return {};
}

std::optional<RolloutStatus> Controller::look(AttemptKey attempt) const {
  const OpenRollout* rollout = state_->find(attempt);
  if (rollout != nullptr && rollout->is_external) return state_->status_of(*rollout);
  if (const auto* status = state_->ended_elsewhere.find(attempt)) return *status;
  return std::nullopt;
}

std::vector<RolloutStatus> Controller::open_external_rollouts() const {
  std::vector<RolloutStatus> open;
  for (const auto& [id, rollout] : state_->rollouts) {
    if (rollout.is_external) open.push_back(state_->status_of(rollout));
  }
  return open;
}

FinishedPage Controller::finished_external(std::uint64_t after, std::size_t limit) const {
  return state_->ended_elsewhere.page(after, limit);
}
}  // namespace corisco::rollouts
