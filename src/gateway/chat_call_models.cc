// What the model name of a chat call means for its attempt; see ModelUse and SideCalls.
#include "corisco/base/log.h"
#include "gateway/chat_call.h"

namespace corisco::gateway {
// Declared names are known to be the policy's, and nothing is trained outside of training.
bool ChatCall::watches_models() const {
  return attempt_ && attempt_->opening.mode == Mode::train && parts_.config->gateway.model_names.empty();
}

// A call was recorded.
void ChatCall::note_model(CallId call, CallState state) {
  if (!watches_models() || state != CallState::used) return;
  const bool is_trained_side = attempt_->side_calls.is_side(side_facts());   // else its state would say so
  attempt_->models.note(call, is_trained_side ? std::string() : request_.model);
  settle_models();
}

// These earlier calls turn out to be beside the task.
void ChatCall::note_side_calls(const std::vector<CallId>& side) {
  context_.metrics.side_calls.add(static_cast<double>(side.size()));
  const bool are_trained = parts_.config->gateway.train_side_calls;
  for (const auto call : side) {
    if (are_trained) attempt_->models.forget_name(call);
    else attempt_->models.forget(call);
    if (!are_trained) parts_.calls->mark_state(call, attempt_->opening.attempt, CallState::side);
  }
  if (!side.empty()) settle_models();
}

void ChatCall::settle_models() {
  auto& models = attempt_->models;
  const auto state = models.has_several() ? CallState::several_models : CallState::used;
  for (const auto call : models.settle()) parts_.calls->mark_state(call, attempt_->opening.attempt, state);
  if (models.has_several()) context_.warn_of_several_models(models.names(), attempt_->opening.attempt);
}
}  // namespace corisco::gateway
