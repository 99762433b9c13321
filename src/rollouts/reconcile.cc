#include "rollouts/reconcile.h"

#include "corisco/base/strings.h"

namespace corisco::rollouts {
namespace {
bool is_over_time(const Seen& rollout, const Bounds& bounds, TimePoint now) {
  if (rollout.is_ending) return false;
  const double seconds = seconds_between(rollout.since, now);
  switch (rollout.state) {
    case RolloutState::running: return seconds - rollout.held_seconds > bounds.seconds_max;
    case RolloutState::grading: return seconds > bounds.grading_seconds_max;
    case RolloutState::queued:
    case RolloutState::finished: return false;
  }
  return false;
}

bool holds_process(const Seen& rollout) {
  if (rollout.is_external) return false;
  return rollout.state == RolloutState::running || rollout.state == RolloutState::grading;
}
}  // namespace

std::vector<Step> reconcile(const std::vector<Seen>& seen, const Bounds& bounds, TimePoint now) {
  std::vector<Step> steps;
  std::uint32_t num_held = 0;
  for (const auto& rollout : seen) {
    if (is_over_time(rollout, bounds, now)) steps.emplace_back(EndForTime{rollout.attempt});
    if (holds_process(rollout)) ++num_held;
  }
  for (const auto& rollout : seen) {
    if (rollout.state != RolloutState::queued || rollout.is_ending || rollout.is_external) continue;
    if (num_held >= bounds.processes_max) break;
    steps.emplace_back(StartAttempt{rollout.attempt});
    ++num_held;
  }
  return steps;
}

Outcome classify(const HarnessEnd& end) {
  using How = ProcessEnd::How;
  if (end.was_cancelled) return Outcome::cancelled;
  if (end.how == How::not_started) return Outcome::spawn_failed;
  if (end.saw_engine_error) return Outcome::engine_failed;
  // A first reply that took the whole time is the policy's doing, no call at all is not.
  if (end.was_timed_out) return end.num_calls > 0 ? Outcome::timed_out : Outcome::spawn_failed;
  if (end.num_delivered == 0) return Outcome::spawn_failed;
  if (end.how == How::over_limit) return Outcome::limit_exceeded;
  // Whatever a harness does about the refusal that the cap makes: the cap is why it ended.
  if (end.hit_cap) return Outcome::truncated;
  if (end.how != How::exited || end.code != 0) return Outcome::harness_crashed;
  return end.hit_length ? Outcome::truncated : Outcome::completed;
}

Verdict judge(Outcome outcome, const Graded& graded, double minimum) {
  const bool ended_well = outcome == Outcome::completed || outcome == Outcome::truncated;
  switch (graded.how) {
    case Graded::How::rewarded: return {outcome, graded.value, graded.note};
    case Graded::How::not_started: return {Outcome::grader_broken, std::nullopt, graded.note};
    case Graded::How::failed:
      return {ended_well ? Outcome::grader_failed : outcome, minimum,
              cat("minimum reward, the grading failed: ", graded.note)};
    case Graded::How::nothing:
      return {ended_well ? Outcome::no_reward : outcome, minimum,
              cat("minimum reward: ", graded.note)};
  }
  return {outcome, minimum, graded.note};
}

Next next_after(Outcome outcome, bool has_verdict, std::uint32_t attempt, std::uint32_t attempts_max,
                bool can_retry) {
  if (is_trained(outcome)) return has_verdict ? Next::finish : Next::grade;
  if (outcome == Outcome::cancelled || !can_retry || attempt >= attempts_max) return Next::finish;
  return Next::retry;
}
}  // namespace corisco::rollouts
