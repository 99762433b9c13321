// The gateway's way to the rollouts: calls go straight to the controller.
#include "app/daemon_parts.h"
#include "corisco/base/strings.h"

namespace corisco::app {
Result<gateway::RolloutPort::Opened> RolloutAdapter::open_external(std::string task_json, Mode mode) {
  CORISCO_TRY(const auto opened, controller_->open_external(std::move(task_json), mode));
  return Opened{opened.attempt, opened.key,
                cat("/rollout/", opened.attempt.rollout, "/attempt/", opened.attempt.attempt)};
}

Result<void> RolloutAdapter::post_reward(AttemptKey attempt, double value, std::string note) {
  return controller_->post_reward(attempt, value, std::move(note));
}

Result<void> RolloutAdapter::finish_external(AttemptKey attempt) { return controller_->finish_external(attempt); }
}  // namespace corisco::app
