// Opens groups of rollouts, starts their harnesses, watches time and ends, asks for rewards.
// Owned by the io thread.
#pragma once
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "corisco/base/clock.h"
#include "corisco/config/config.h"
#include "corisco/metrics/registry.h"
#include "corisco/rollouts/sandbox.h"
#include "corisco/rollouts/tasks.h"
#include "corisco/types/rollout.h"

namespace corisco::rollouts {
// What the controller needs from the rest of the daemon (bound in app).
struct ControllerPorts {
  // Makes the attempt's key valid at the gateway; returns the key.
  std::function<std::string(const RolloutSpec&, std::uint32_t attempt, std::uint64_t salt)> open_attempt;
  // Ends it: running calls are cancelled, later ones refused.
  struct Summary {
    std::uint32_t num_calls = 0, num_delivered = 0;
    bool hit_cap = false;              // of its calls, or of the context
    bool hit_length = false, saw_engine_error = false;
    double held_seconds = 0;
  };
  std::function<Summary(AttemptKey)> close_attempt;
  std::function<Summary(AttemptKey)> look_at_attempt;      // while it runs
  std::function<Result<void>(GroupId, std::uint64_t occurrence, std::uint32_t siblings)> open_group;
  std::function<Result<void>(const RolloutSpec&)> open_rollout;
  // Of one that was opened in an earlier life of the daemon, where it made so many attempts.
  std::function<Result<void>(const RolloutSpec&, std::uint32_t attempts_before)> reopen_rollout;
  std::function<Result<void>(AttemptKey, std::uint64_t salt)> start_attempt;
  std::function<Result<void>(FinishedRollout)> finish;
  // What the grader may see of the calls: a JSON array of
  // {turn, choice, messages, reply, finish, num_tokens}.
  std::function<std::string(AttemptKey)> transcript_json;
  // Too many infrastructure failures in a row, or a grader that fails on each of the first rollouts:
  // the reason of the last one. Called once, never from within another call of the controller.
  std::function<void(std::string)> on_broken;
};

struct ControllerParts {
  boost::asio::io_context* io = nullptr;
  const Clock* clock = nullptr;
  const config::Config* config = nullptr;
  Sandbox* sandbox = nullptr;
  metrics::Registry* metrics = nullptr;
  std::string run_folder;                          // rollouts/<id>/ below it: task.json, output.txt, reward
  std::string gateway_url;                         // "http://127.0.0.1:8080"
  ControllerPorts ports;
};

class Controller {
 public:
  explicit Controller(ControllerParts parts);
  ~Controller();

  // Opens the siblings of one training task. Their harnesses start as processes_max allows,
  // oldest rollout first.
  Result<GroupId> open_group(const Task& task, std::uint64_t occurrence);
  // Goes on with a group that an earlier life of the daemon left open, by starting what it had not finished.
  // Its siblings that were never opened are opened now.
  struct Unfinished {
    GroupId group;
    std::uint64_t occurrence = 0;
    struct Rollout {
      RolloutSpec spec;
      std::uint32_t attempt = 1;         // the next one
      std::uint64_t salt = 0;            // of the attempt that the restart ended: its draws are made again
    };
    std::vector<Rollout> to_run;
    std::vector<std::uint32_t> to_open;  // siblings
  };
  Result<void> reopen_group(const Task& task, Unfinished unfinished);
  // One validation rollout; it ends in ports.finish like the others.
  Result<RolloutId> open_validation(const Task& task, std::uint64_t occurrence, std::uint32_t repeat);
  // A rollout whose harness runs elsewhere.
  struct External {
    AttemptKey attempt;
    std::string key;
    Mode mode = Mode::val;
    std::string task_json;
  };
  // Of a task of the caller's own: for validation alone, since it has no siblings.
  Result<External> open_external(std::string task_json);
  // With rollouts.harness.external: starts the rollout that has waited longest. conflict: none waits.
  Result<External> take_waiting();
  Result<void> finish_external(AttemptKey attempt);
  Result<void> fail_external(AttemptKey attempt, const std::string& reason);

  // The same in two steps: a rollout of the caller's own task that waits, without a time limit, until
  // start_waiting() says that its harness starts elsewhere. That also starts a waiting rollout of the
  // run with rollouts.harness.external. conflict: it does not wait.
  Result<AttemptKey> open_waiting(std::string task_json);
  Result<void> start_waiting(AttemptKey attempt);
  // Ends an open rollout of a caller's own task, and forgets an ended attempt. conflict: it is one of
  // the run's and open, or it is being graded.
  Result<void> drop_external(AttemptKey attempt);
  // Attempts whose harnesses run elsewhere: one, the open ones in the order of opening, the ended ones.
  std::optional<RolloutStatus> look(AttemptKey attempt) const;
  std::vector<RolloutStatus> open_external_rollouts() const;
  FinishedPage finished_external(std::uint64_t after, std::size_t limit) const;
  Result<void> post_reward(AttemptKey attempt, double value, std::string note);

  // Ids continue after these (resume).
  void set_next_ids(std::uint64_t rollout, std::uint64_t group);
  std::size_t num_running() const;                 // harnesses alive
  std::size_t num_open() const;                    // rollouts not finished
  // Ends every process; rollouts end as cancelled. done is called when all trees are gone.
  void stop(std::function<void()> done);

 private:
  struct State;
  std::shared_ptr<State> state_;
};
}  // namespace corisco::rollouts
