// Enumerators by their wire names, which are also their metric labels.
#include "corisco/types/sample.h"

namespace corisco {
const char* to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::stop: return "stop";
    case FinishReason::length: return "length";
    case FinishReason::aborted: return "aborted";
  }
  return "aborted";
}

const char* to_string(CallState state) {
  switch (state) {
    case CallState::used: return "used";
    case CallState::superseded: return "superseded";
    case CallState::aborted: return "aborted";
    case CallState::side: return "side";
    case CallState::frozen: return "frozen";
    case CallState::several_models: return "several_models";
  }
  return "used";
}

const char* to_string(SplitCause cause) {
  switch (cause) {
    case SplitCause::none: return "none";
    case SplitCause::first: return "first";
    case SplitCause::new_conversation: return "new_conversation";
    case SplitCause::system_changed: return "system_changed";
    case SplitCause::tools_changed: return "tools_changed";
    case SplitCause::history_dropped: return "history_dropped";
    case SplitCause::history_changed: return "history_changed";
    case SplitCause::reply_changed: return "reply_changed";
    case SplitCause::reasoning_dropped: return "reasoning_dropped";
    case SplitCause::template_changed: return "template_changed";
    case SplitCause::stop_string: return "stop_string";
    case SplitCause::exact_serving: return "exact_serving";
    case SplitCause::prefix_changed: return "prefix_changed";
    case SplitCause::forked: return "forked";
    case SplitCause::temperature_changed: return "temperature_changed";
  }
  return "none";
}

const char* to_string(Mode mode) { return mode == Mode::train ? "train" : "val"; }

const char* to_string(MergeLevel level) {
  return level == MergeLevel::transition ? "transition" : "trajectory";
}

const char* to_string(RolloutState state) {
  switch (state) {
    case RolloutState::queued: return "queued";
    case RolloutState::running: return "running";
    case RolloutState::grading: return "grading";
    case RolloutState::finished: return "finished";
  }
  return "finished";
}

bool can_move(RolloutState from, RolloutState to) {
  switch (from) {
    case RolloutState::queued: return to == RolloutState::running || to == RolloutState::finished;
    case RolloutState::running:
      return to == RolloutState::grading || to == RolloutState::finished ||
             to == RolloutState::queued;  // a new attempt after an infrastructure failure
    case RolloutState::grading: return to == RolloutState::finished || to == RolloutState::queued;
    case RolloutState::finished: return false;
  }
  return false;
}

const char* to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::completed: return "completed";
    case Outcome::truncated: return "truncated";
    case Outcome::timed_out: return "timed_out";
    case Outcome::limit_exceeded: return "limit_exceeded";
    case Outcome::harness_crashed: return "harness_crashed";
    case Outcome::grader_failed: return "grader_failed";
    case Outcome::no_reward: return "no_reward";
    case Outcome::spawn_failed: return "spawn_failed";
    case Outcome::engine_failed: return "engine_failed";
    case Outcome::grader_broken: return "grader_broken";
    case Outcome::daemon_restarted: return "daemon_restarted";
    case Outcome::cancelled: return "cancelled";
  }
  return "cancelled";
}
}  // namespace corisco
