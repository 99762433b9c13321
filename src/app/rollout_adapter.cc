// The gateway's way to the rollouts: calls go straight to the controller.
#include "app/daemon_parts.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace {
gateway::RolloutPort::Opened opened_from(rollouts::Controller::External from) {
  return {from.attempt, std::move(from.key), cat("/rollout/", from.attempt.rollout, "/attempt/", from.attempt.attempt),
          from.mode, std::move(from.task_json)};
}
}  // namespace

Result<gateway::RolloutPort::Opened> RolloutAdapter::open_external(std::string task_json) {
  CORISCO_TRY(auto opened, controller_->open_external(std::move(task_json)));
  return opened_from(std::move(opened));
}

Result<gateway::RolloutPort::Opened> RolloutAdapter::take_waiting() {
  CORISCO_TRY(auto taken, controller_->take_waiting());
  return opened_from(std::move(taken));
}

Result<void> RolloutAdapter::post_reward(AttemptKey attempt, double value, std::string note) {
  return controller_->post_reward(attempt, value, std::move(note));
}

Result<void> RolloutAdapter::finish_external(AttemptKey attempt) { return controller_->finish_external(attempt); }

Result<void> RolloutAdapter::fail_external(AttemptKey attempt, std::string reason) {
  return controller_->fail_external(attempt, reason);
}

Result<AttemptKey> RolloutAdapter::open_waiting(std::string task_json) {
  CORISCO_TRY(const auto opened, controller_->open_waiting(std::move(task_json)));
  kept_calls_.expect(opened.rollout);
  return opened;
}

Result<void> RolloutAdapter::start_waiting(AttemptKey attempt) { return controller_->start_waiting(attempt); }

Result<void> RolloutAdapter::drop_external(AttemptKey attempt) {
  CORISCO_CHECK(controller_->drop_external(attempt));
  kept_calls_.forget(attempt.rollout);
  return {};
}

std::optional<RolloutStatus> RolloutAdapter::look(AttemptKey attempt) const { return controller_->look(attempt); }

std::vector<RolloutStatus> RolloutAdapter::open_external_rollouts() const {
  return controller_->open_external_rollouts();
}

FinishedPage RolloutAdapter::finished_external(std::uint64_t after, std::size_t limit) const {
  return controller_->finished_external(after, limit);
}

const std::vector<Call>* RolloutAdapter::external_calls(AttemptKey attempt) const {
  if (const auto* kept = kept_calls_.find(attempt.rollout)) return kept;
  return store_->calls(attempt);
}
}  // namespace corisco::app
