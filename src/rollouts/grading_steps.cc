// The reward of a rollout whose harness has ended: read, asked for, judged.
#include <unistd.h>

#include "corisco/base/log.h"
#include "corisco/base/strings.h"
#include "rollouts/controller_state.h"

namespace corisco::rollouts {
namespace {
constexpr std::uint64_t kRewardFileBytesMax = 4096;
constexpr std::uint64_t kGraderBytesMax = 65536;
constexpr std::size_t kNoteBytesMax = 2000;
constexpr std::size_t kShownLines = 20;
constexpr std::uint32_t kFirstGradings = 8;  // if all of these fail, the grader is broken

Graded graded_from(const Result<Reward>& reward) {
  if (!reward.ok()) return {Graded::How::failed, 0, reward.error().message};
  return {Graded::How::rewarded, reward.value().value, reward.value().note};
}

std::string last_bytes(const std::string& text, std::size_t count) {
  return text.size() <= count ? text : cat("...", text.substr(text.size() - count));
}
}  // namespace

void Controller::State::grade(OpenRollout& rollout) {
  move(rollout, RolloutState::grading);
  const auto& reward = parts.config->rollouts.reward;
  if (rollout.summary->num_delivered == 0) {
    decide(rollout, {Graded::How::nothing, 0, "no call was delivered in time"});
  } else if (rollout.posted) {
    decide(rollout, {Graded::How::rewarded, rollout.posted->value, rollout.posted->note});
  } else if (reward.source == "python" || reward.source == "command") {
    start_grader(rollout);
  } else if (reward.source == "event" || rollout.is_external) {
    decide(rollout, {Graded::How::nothing, 0, "no reward was posted"});
  } else {
    decide(rollout, read_reward_file(rollout));
  }
}

Graded Controller::State::read_reward_file(const OpenRollout& rollout) const {
  const auto folder = attempt_folder(parts.run_folder, rollout.key());
  const auto content = tail_of(folder.reward_file, kRewardFileBytesMax);
  if (!content) return {Graded::How::nothing, 0, "the harness wrote no reward file"};
  return graded_from(parse_reward_text(*content));
}

void Controller::State::start_grader(OpenRollout& rollout) {
  rollout.was_timed_out = false;       // from here on it speaks of the grader
  const LaunchContext context = context_of(rollout);
  ::unlink(context.folder.result_file.c_str());  // the harness's own, not a grade
  const GraderView view{parts.ports.transcript_json(rollout.key()), to_string(rollout.outcome),
                        tail_of(context.folder.output_file, kGraderBytesMax).value_or("")};
  if (rollout.is_external) {
    if (auto created = create(context.folder, rollout.spec.task_json); !created.ok()) {
      decide(rollout, {Graded::How::not_started, 0, created.error().message});
      return;
    }
  }
  auto launch = grader_launch(context, view);
  if (!launch.ok()) {
    decide(rollout, {Graded::How::not_started, 0, launch.error().message});
    return;
  }
  parts.sandbox->start(std::move(launch).value(), [weak = weak_from_this()](const ProcessEnd& end) {
    const auto self = weak.lock();
    OpenRollout* graded = self ? self->find(end.attempt) : nullptr;
    if (graded != nullptr) self->on_grader_end(*graded, end);
  });
}

void Controller::State::on_grader_end(OpenRollout& rollout, const ProcessEnd& end) {
  rollout.is_ending = false;
  if (is_stopping) {
    finish(rollout, {Outcome::cancelled, std::nullopt, "the daemon is stopping"});
  } else {
    decide(rollout, read_grader(rollout, end));
  }
}

Graded Controller::State::read_grader(const OpenRollout& rollout, const ProcessEnd& end) const {
  const auto& reward = parts.config->rollouts.reward;
  if (end.how == ProcessEnd::How::not_started) return {Graded::How::not_started, 0, end.error};
  if (rollout.was_timed_out) {
    return {Graded::How::failed, 0, cat("the grader took more than ", reward.seconds_max, " s")};
  }
  const auto folder = attempt_folder(parts.run_folder, rollout.key());
  if (reward.source == "python") {
    const auto result = tail_of(folder.result_file, 1U << 20);
    const Graded graded = result ? graded_from(parse_function_reward(*result)) : Graded{};
    const bool ended_well = end.how == ProcessEnd::How::exited && end.code == 0;
    if (graded.how == Graded::How::failed || (graded.how == Graded::How::rewarded && ended_well)) return graded;
  }
  const auto output = tail_of(folder.grader_output_file, kGraderBytesMax).value_or("");
  if (reward.source == "command" && end.how == ProcessEnd::How::exited && end.code == 0) {
    return graded_from(parse_reward_text(last_line(output)));
  }
  const bool was_signalled = end.how != ProcessEnd::How::exited;
  return {Graded::How::failed, 0,
          cat("the grader ended with ", was_signalled ? "signal " : "exit status ", end.code,
              "; its last output:\n", last_lines(output, kShownLines))};
}

void Controller::State::decide(OpenRollout& rollout, const Graded& graded) {
  watch_grader(graded);
  Verdict verdict = judge(rollout.outcome, graded, parts.config->rollouts.reward.minimum);
  verdict.note = last_bytes(verdict.note, kNoteBytesMax);
  if (graded.how == Graded::How::failed) {
    log::warn(cat("rollout ", rollout.spec.id, ": ", verdict.note));
  }
  if (!is_trained(verdict.outcome)) {
    note_infrastructure_failure(rollout, verdict.outcome, graded.note);
  }
  const auto next = next_after(verdict.outcome, true, rollout.tries(),
                               parts.config->rollouts.attempts_max, rollout.can_retry);
  if (next == Next::retry) {
    rollout.outcome = verdict.outcome;
    retry(rollout, verdict.note);
  } else {
    finish(rollout, verdict);
  }
}

// A grader that fails on each of the first rollouts is a broken program, not a judgement.
void Controller::State::watch_grader(const Graded& graded) {
  if (graded.how == Graded::How::rewarded) ++num_graded_well;
  if (graded.how != Graded::How::failed) return;
  ++num_gradings_failed;
  if (num_graded_well > 0 || num_gradings_failed < kFirstGradings || is_broken) return;
  tell_broken(cat("the grading failed on each of the first ", kFirstGradings,
                  " rollouts; the last one: ", graded.note));
}
}  // namespace corisco::rollouts
