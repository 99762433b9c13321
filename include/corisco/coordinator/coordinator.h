// Decides what the daemon does: opens groups, starts updates, evaluates, ends the run.
// Owned by the io thread; everything it calls answers there. It waits only for devices to
// acknowledge, for groups to finish and for the drain's deadline.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "corisco/base/clock.h"
#include "corisco/base/result.h"
#include "corisco/coordinator/checkpoint.h"
#include "corisco/coordinator/device.h"
#include "corisco/coordinator/gate.h"
#include "corisco/coordinator/phase.h"
#include "corisco/coordinator/window.h"
#include "corisco/metrics/registry.h"
#include "corisco/types/sample.h"

namespace corisco::coordinator {
struct PhaseSeconds {
  double generating = 0, draining = 0, training = 0, publishing = 0;
};

// How the run is to go, from the config.
struct Plan {
  std::uint64_t updates = 0;             // in all, those before a resume included; 0: serve only
  std::uint32_t evaluate_every = 0;
  bool evaluate_at_start = false, evaluate_at_end = false;
  std::uint32_t checkpoint_every = 0;    // 0: at the end alone
  std::uint32_t drain_seconds_max = 0;
  WindowLimits window;
};

// Where a run continues.
struct Progress {
  PolicyVersion version;
  std::uint64_t updates_done = 0;
  std::uint64_t next_occurrence = 0;
  std::vector<std::uint64_t> occurrences_to_redo;   // drawn before, trained never
  bool is_saved = false;                 // a checkpoint of exactly this state is there
  std::string checkpoint{};              // the folder that its weights are from; empty: the initial ones
};

struct OpenedGroup {
  GroupId id;
  PolicyVersion opened_at;               // the current version, or an earlier one
};

struct CoordinatorPorts {
  // Opens the group of this task, or goes on with what a resumed run has of it if that was opened at
  // version opened_at_least or later; its completion comes back through group_complete(), never at once.
  std::function<Result<OpenedGroup>(std::uint64_t task_occurrence, PolicyVersion opened_at_least)> open_group;
  // Of a task to redo: what is left of its group is for a later update than the next one.
  std::function<bool(std::uint64_t task_occurrence)> is_for_later = [](std::uint64_t) { return false; };
  // Runs all held-out rollouts; done when the last one has ended.
  std::function<void(PolicyVersion, std::function<void()> done)> evaluate;
  std::function<void(const UpdateReport&, const PhaseSeconds&, const std::vector<GroupId>&)> on_update;
  // A checkpoint was written at this version, or could not be.
  std::function<void(PolicyVersion, const Result<std::string>& folder)> on_checkpoint;
  std::function<void()> on_done;                    // all updates, the last evaluation and checkpoint
  std::function<void(const std::string& reason)> on_failed;
};

class Coordinator {
 public:
  Coordinator(boost::asio::io_context& io, const Clock& clock, Gate& gate, Device& device,
              metrics::Registry& metrics, Plan plan, CoordinatorPorts ports);

  void start(const Progress& from);
  // All siblings of a group have ended, and the device can take it.
  void group_complete(GroupId id);
  // By hand: requests wait and no update starts until set_paused(false).
  void set_paused(bool paused);
  // By hand, or before the end: writes a checkpoint of the weights in force, within an update of those that it
  // publishes, or says which one has them already. done is called once, maybe before this returns.
  void checkpoint(OnCheckpoint done);
  // No new update or group from now on; an unfinished update is discarded.
  void stop();
  void fail(const std::string& reason);

  Phase phase() const { return phase_; }
  PolicyVersion version() const { return version_; }
  std::uint64_t updates_done() const { return updates_done_; }
  std::uint32_t num_groups_complete() const { return window_.num_complete(); }
  std::uint32_t num_groups_active() const { return window_.num_active(); }
  bool is_paused() const { return is_paused_; }
  bool is_evaluating() const { return is_evaluating_; }
  bool is_saving() const { return is_saving_; }
  // One is being written, or will be when the update is published.
  bool is_checkpoint_pending() const { return is_saving_ || !checkpoint_askers_.empty(); }
  const std::optional<Checkpoint>& last_checkpoint() const { return last_checkpoint_; }

 private:
  void move_to(Phase next);
  void proceed();                        // what comes next while generating
  bool start_evaluation_if_due();
  void fill_window();
  std::optional<std::uint64_t> take_occurrence();
  void start_update_if_ready();
  void drain();
  void train();
  void publish();
  void published(const UpdateReport& report);
  void save_if_due();
  void save();
  void saved(PolicyVersion version, std::uint64_t updates_done, const Result<std::string>& folder);
  void answer_askers(const Result<Checkpoint>& answer);
  void reopen();
  void finish_run();
  bool is_over() const;

  const Clock& clock_;
  Gate& gate_;
  Device& device_;
  metrics::Registry& metrics_;
  const Plan plan_;
  CoordinatorPorts ports_;
  Phase phase_ = Phase::starting;
  TimePoint phase_since_;
  PhaseSeconds seconds_;                 // of the current update so far
  double not_generating_ = 0;            // of the current phase: an evaluation
  Window window_;
  PolicyVersion version_;
  std::uint64_t updates_done_ = 0;
  std::uint64_t next_occurrence_ = 0;
  std::uint64_t opened_for_updates_ = 0; // groups opened that updates have not consumed yet
  std::vector<std::uint64_t> occurrences_to_redo_;
  std::vector<GroupId> in_update_;
  std::int64_t evaluated_at_ = -1;       // updates done at the last evaluation
  std::int64_t saved_at_ = -1;           // updates done at the last checkpoint
  std::optional<Checkpoint> last_checkpoint_;
  std::vector<OnCheckpoint> checkpoint_askers_;
  bool is_paused_ = false, is_evaluating_ = false, is_saving_ = false, is_finished_ = false;
  boost::asio::steady_timer drain_deadline_;
};
}  // namespace corisco::coordinator
