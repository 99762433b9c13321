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
}  // namespace corisco::app
