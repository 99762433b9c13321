// One attempt at a rollout: started, ended, classified, then graded, tried again or finished.
#include <boost/asio/post.hpp>

#include "corisco/base/log.h"
#include "corisco/base/random.h"
#include "corisco/base/strings.h"
#include "rollouts/controller_state.h"

namespace corisco::rollouts {
namespace {
constexpr std::uint32_t kCancelGraceMs = 1000;
constexpr std::size_t kShownLines = 20;
constexpr std::uint64_t kShownBytes = 4096;

std::string end_in_words(const ProcessEnd& end) {
  switch (end.how) {
    case ProcessEnd::How::exited: return cat("ended with exit status ", end.code);
    case ProcessEnd::How::signalled: return cat("was ended by signal ", end.code);
    case ProcessEnd::How::killed: return "was ended by the daemon";
    case ProcessEnd::How::over_limit: return cat("was ended: ", end.error);
    case ProcessEnd::How::not_started: return cat("was not started: ", end.error);
  }
  return "ended";
}
}  // namespace

LaunchContext Controller::State::context_of(const OpenRollout& rollout) const {
  return {parts.config,
          config_folder,
          parts.gateway_url,
          &rollout.spec,
          rollout.key(),
          rollout.api_key,
          attempt_folder(parts.run_folder, rollout.key())};
}

// 0 for a first attempt, so that a rollout's draws don't depend on how it was numbered.
std::uint64_t Controller::State::salt_of(const OpenRollout& rollout) const {
  if (rollout.kept_salt) return *rollout.kept_salt;
  if (rollout.attempt == 1) return 0;
  return hash_words({parts.config->run.seed, rollout.spec.task_occurrence, rollout.spec.sibling,
                     rollout.attempt});
}

void Controller::State::start_attempt(OpenRollout& rollout) {
  move(rollout, RolloutState::running);
  rollout.started = rollout.since;
  rollout.summary.reset();
  rollout.api_key.clear();
  rollout.posted.reset();
  rollout.is_ending = rollout.was_timed_out = false;
  parts.metrics->counter("corisco_rollouts_attempts_total").add();
  if (auto launched = launch_harness(rollout); !launched.ok()) {
    on_harness_end(rollout, {rollout.key(), ProcessEnd::How::not_started, 0,
                             launched.error().message});
  }
}

Result<void> Controller::State::launch_harness(OpenRollout& rollout) {
  const std::uint64_t salt = salt_of(rollout);
  CORISCO_CHECK(parts.ports.start_attempt(rollout.key(), salt));
  rollout.api_key = parts.ports.open_attempt(rollout.spec, rollout.attempt, salt);
  if (rollout.is_external) return {};
  const LaunchContext context = context_of(rollout);
  CORISCO_CHECK(create(context.folder, rollout.spec.task_json));
  CORISCO_TRY(Launch launch, harness_launch(context));
  parts.sandbox->start(std::move(launch), [weak = weak_from_this()](const ProcessEnd& end) {
    const auto self = weak.lock();
    OpenRollout* ended = self ? self->find(end.attempt) : nullptr;
    if (ended != nullptr) self->on_harness_end(*ended, end);
  });
  return {};
}

void Controller::State::close_attempt(OpenRollout& rollout) {
  if (rollout.summary) return;
  const bool was_opened = !rollout.api_key.empty();
  rollout.summary = was_opened ? parts.ports.close_attempt(rollout.key()) : Summary{};
}

void Controller::State::on_harness_end(OpenRollout& rollout, const ProcessEnd& end) {
  close_attempt(rollout);
  const Summary& summary = *rollout.summary;
  rollout.seconds = std::max(
      0.0, seconds_between(rollout.started, parts.clock->now()) - summary.held_seconds);
  rollout.is_ending = false;
  rollout.outcome = classify({end.how, end.code, is_stopping, rollout.was_timed_out,
                              summary.num_calls, summary.num_delivered, summary.hit_cap,
                              summary.hit_length, summary.saw_engine_error});
  const auto next = next_after(rollout.outcome, false, rollout.tries(),
                               parts.config->rollouts.attempts_max, rollout.can_retry);
  if (next == Next::grade) {
    grade(rollout);
    return;
  }
  const std::string reason = why_it_failed(rollout, end);
  note_infrastructure_failure(rollout, rollout.outcome, reason);
  if (next == Next::retry) {
    retry(rollout, reason);
  } else {
    finish(rollout, {rollout.outcome, std::nullopt, reason});
  }
}

std::string Controller::State::why_it_failed(const OpenRollout& rollout,
                                             const ProcessEnd& end) const {
  if (rollout.outcome == Outcome::cancelled) return "the daemon is stopping";
  std::string why = cat("the harness ", end_in_words(end));
  if (rollout.outcome == Outcome::engine_failed) {
    why += " after the engine failed one of its calls";
  } else if (rollout.was_timed_out) {
    why = cat("the harness made no call within ", parts.config->rollouts.seconds_max, " s");
  } else if (end.how != ProcessEnd::How::not_started) {
    why += " before its first delivered call";
  }
  const bool has_words = end.how == ProcessEnd::How::exited && !end.error.empty();
  if (rollout.is_external) return has_words ? cat(why, ": ", end.error) : why;
  const auto folder = attempt_folder(parts.run_folder, rollout.key());
  const auto output = last_lines(tail_of(folder.output_file, kShownBytes).value_or(""), kShownLines);
  if (!output.empty()) why += cat("; its last output (", folder.output_file, "):\n", output);
  return why;
}

void Controller::State::note_infrastructure_failure(const OpenRollout& rollout, Outcome outcome,
                                                    const std::string& reason) {
  if (outcome == Outcome::cancelled) return;
  log::warn(cat("rollout ", rollout.spec.id, " attempt ", rollout.attempt, ": ",
                to_string(outcome), ": ", reason));
  if (!rollout.is_of_run) return;      // a caller's own says nothing about the run
  ++failures_in_row;
  if (failures_in_row < parts.config->rollouts.infrastructure_failures_max || is_broken) return;
  tell_broken(cat(failures_in_row,
                  " attempts in a row failed for infrastructure reasons; the last one: ", reason));
}

// Later, not now: the answer may be a stop, which must not meet a rollout halfway between two states.
void Controller::State::tell_broken(const std::string& why) {
  is_broken = true;
  boost::asio::post(*parts.io, [weak = weak_from_this(), why] {
    if (const auto self = weak.lock()) self->parts.ports.on_broken(why);
  });
}

void Controller::State::retry(OpenRollout& rollout, const std::string& reason) {
  parts.metrics->counter("corisco_rollouts_retried_total").add();
  log_end(rollout, {rollout.outcome, std::nullopt, reason});
  move(rollout, RolloutState::queued);
  ++rollout.attempt;
  rollout.kept_salt.reset();
  schedule();
}

void Controller::State::finish(OpenRollout& rollout, const Verdict& verdict) {
  move(rollout, RolloutState::finished);
  log_end(rollout, verdict);
  const std::string mode = to_string(rollout.spec.mode);
  parts.metrics->counter("corisco_rollouts_finished_total", {mode, to_string(verdict.outcome)}).add();
  parts.metrics->histogram("corisco_rollouts_seconds", {mode}).observe(rollout.seconds);
  if (verdict.reward) {
    parts.metrics->histogram("corisco_rollouts_reward", {mode}).observe(*verdict.reward);
  }
  if (is_trained(verdict.outcome)) {
    failures_in_row = 0;
    tidy(attempt_folder(parts.run_folder, rollout.key()));
  }
  FinishedRollout finished;
  finished.attempt = rollout.attempt;
  finished.outcome = verdict.outcome;
  finished.reward = verdict.reward;
  finished.reward_note = verdict.note;
  finished.seconds = rollout.seconds;
  finished.spec = std::move(rollout.spec);
  const RolloutId id = finished.spec.id;
  rollouts.erase(id);
  schedule();
  if (auto done = parts.ports.finish(std::move(finished)); !done.ok()) {
    log::error(cat("rollout ", id, ": its end was not taken: ", done.error().message));
  }
}

// A process is killed and its end finishes the rollout, anything else ends at once.
void Controller::State::cancel(OpenRollout& rollout, const std::string& why) {
  const bool has_started = rollout.state != RolloutState::queued;
  if (has_started) close_attempt(rollout);
  const bool has_process = rollout.state == RolloutState::grading ||
                           (rollout.state == RolloutState::running && !rollout.is_external);
  if (has_process) {
    rollout.is_ending = true;
    parts.sandbox->kill(rollout.key(), kCancelGraceMs);
  } else {
    finish(rollout, {Outcome::cancelled, std::nullopt, why});
  }
}
}  // namespace corisco::rollouts
