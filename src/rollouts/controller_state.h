// The controller's inside: the open rollouts and the steps that move them.
// Owned by the io thread; handlers hold it weakly.
#pragma once
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <optional>
#include <string>

#include "corisco/rollouts/controller.h"
#include "rollouts/finished_log.h"
#include "rollouts/launches.h"
#include "rollouts/reconcile.h"
#include "rollouts/reward.h"

namespace corisco::rollouts {
using Summary = ControllerPorts::Summary;

struct OpenRollout {
  RolloutSpec spec;
  bool is_external = false;            // its harness runs elsewhere
  bool can_retry = true;               // somebody would start a further attempt
  bool is_of_run = true;               // its task is one of the run's, not a caller's own
  std::uint32_t attempt = 1;
  std::uint32_t attempts_before = 0;   // of earlier lives of the daemon: they count as no tries
  std::optional<std::uint64_t> kept_salt;  // of the attempt that a restart ended, for the one in its place
  std::uint32_t tries() const { return attempt - attempts_before; }
  RolloutState state = RolloutState::queued;
  TimePoint since;                     // of state
  double opened_unix_seconds = 0;      // for those who read it
  double changed_unix_seconds = 0;
  TimePoint started;                   // of the attempt
  std::string api_key;
  std::optional<Summary> summary;      // once the attempt is closed
  std::optional<Reward> posted;
  bool is_ending = false;              // a kill is under way
  bool was_timed_out = false;
  Outcome outcome = Outcome::completed;  // how the harness ended
  double seconds = 0;                  // that the attempt ran
  AttemptKey key() const { return {spec.id, attempt}; }
};

struct Controller::State : std::enable_shared_from_this<Controller::State> {
  explicit State(ControllerParts given);

  // controller.cc: opening and the loop
  Result<void> open(OpenRollout rollout);
  Result<void> open_sibling(const Task& task, GroupId group, std::uint64_t occurrence, std::uint32_t sibling);
  Result<void> reopen(Controller::Unfinished::Rollout left);
  void take_in(OpenRollout rollout);
  void schedule();                     // a look at everything, soon
  void look();
  void arm_timer();
  void do_step(const StartAttempt& step);
  void do_step(const EndForTime& step);
  std::vector<Seen> see() const;
  OpenRollout* find(AttemptKey attempt);
  void move(OpenRollout& rollout, RolloutState to);
  std::size_t num_running() const;

  // external_rollouts.cc: those whose harnesses run elsewhere
  Result<OpenRollout*> open_for_caller(std::string task_json);
  Result<Controller::External> start_external(OpenRollout& rollout);
  Result<void> end_external(AttemptKey attempt, int exit_status, const std::string& reason);
  RolloutStatus status_of(const OpenRollout& rollout) const;
  void log_end(const OpenRollout& rollout, const Verdict& verdict);

  // attempt_steps.cc: one attempt, from its start to its outcome
  void start_attempt(OpenRollout& rollout);
  Result<void> launch_harness(OpenRollout& rollout);
  void on_harness_end(OpenRollout& rollout, const ProcessEnd& end);
  void close_attempt(OpenRollout& rollout);
  std::string why_it_failed(const OpenRollout& rollout, const ProcessEnd& end) const;
  void note_infrastructure_failure(const OpenRollout& rollout, Outcome outcome,
                                   const std::string& reason);
  void tell_broken(const std::string& why);
  void retry(OpenRollout& rollout, const std::string& reason);
  void finish(OpenRollout& rollout, const Verdict& verdict);
  void cancel(OpenRollout& rollout, const std::string& why);
  LaunchContext context_of(const OpenRollout& rollout) const;
  std::uint64_t salt_of(const OpenRollout& rollout) const;

  // grading_steps.cc: its reward
  void grade(OpenRollout& rollout);
  Graded read_reward_file(const OpenRollout& rollout) const;
  void start_grader(OpenRollout& rollout);
  void on_grader_end(OpenRollout& rollout, const ProcessEnd& end);
  Graded read_grader(const OpenRollout& rollout, const ProcessEnd& end) const;
  void decide(OpenRollout& rollout, const Graded& graded);
  void watch_grader(const Graded& graded);

  ControllerParts parts;
  std::string config_folder;
  boost::asio::steady_timer timer;
  std::map<RolloutId, OpenRollout> rollouts;  // in the order of opening
  FinishedLog ended_elsewhere;         // attempts of external ones
  std::uint64_t next_rollout = 1, next_group = 1;
  bool is_look_posted = false, is_timer_armed = false;
  std::function<void()> on_stopped;
  bool is_stopping = false;
  std::uint32_t failures_in_row = 0;   // of infrastructure
  std::uint32_t num_graded_well = 0, num_gradings_failed = 0;
  bool is_broken = false;
};
}  // namespace corisco::rollouts
