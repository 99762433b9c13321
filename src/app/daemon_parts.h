// The daemon's parts in the order in which they are built; destroyed in the reverse one.
// Everything here is owned by the io thread, except what the parts themselves say.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>

#include "app/daemon.h"
#include "app/evaluation.h"
#include "app/exit_codes.h"
#include "app/journal_sink.h"
#include "app/engine_watch.h"
#include "app/kept_calls.h"
#include "app/model_device.h"
#include "app/progress.h"
#include "app/retention.h"
#include "app/resumed_groups.h"
#include "app/run_folder.h"
#include "corisco/base/handover_queue.h"
#include "corisco/coordinator/coordinator.h"
#include "corisco/coordinator/gate.h"
#include "corisco/gateway/attempts.h"
#include "corisco/gateway/server.h"
#include "corisco/metrics/run_log.h"
#include "corisco/rollouts/controller.h"
#include "corisco/rollouts/spawner.h"
#include "corisco/samples/journal.h"
#include "corisco/samples/recovery.h"
#include "corisco/samples/store.h"

namespace corisco::app {
// The gateway's way to the rollouts.
class RolloutAdapter final : public gateway::RolloutPort {
 public:
  void bind(rollouts::Controller* controller, const samples::Store* store) {
    controller_ = controller;
    store_ = store;
  }
  void on_finished(const FinishedRollout& finished) { kept_calls_.keep(finished); }
  Result<Opened> open_external(std::string task_json) override;
  Result<Opened> take_waiting() override;
  Result<void> post_reward(AttemptKey attempt, double value, std::string note) override;
  Result<void> finish_external(AttemptKey attempt) override;
  Result<void> fail_external(AttemptKey attempt, std::string reason) override;
  Result<AttemptKey> open_waiting(std::string task_json) override;
  Result<void> start_waiting(AttemptKey attempt) override;
  Result<void> drop_external(AttemptKey attempt) override;
  std::optional<RolloutStatus> look(AttemptKey attempt) const override;
  std::vector<RolloutStatus> open_external_rollouts() const override;
  FinishedPage finished_external(std::uint64_t after, std::size_t limit) const override;
  const std::vector<Call>* external_calls(AttemptKey attempt) const override;

 private:
  rollouts::Controller* controller_ = nullptr;
  const samples::Store* store_ = nullptr;
  KeptCalls kept_calls_;
};

struct Daemon::Parts {
  explicit Parts(DaemonOptions given) : options(std::move(given)) {}

  DaemonOptions options;
  const config::Config& config() const { return options.config; }
  boost::asio::io_context io{1};
  std::unique_ptr<rollouts::Spawner> spawner;      // before any thread
  RunFolder folder;
  std::optional<rollouts::Tasks> tasks, heldout;
  metrics::Registry metrics;
  std::unique_ptr<metrics::RunLog> run_log;
  std::unique_ptr<samples::Journal> journal;
  std::unique_ptr<DailyRemoval> removal;           // of old content; none without a journal
  std::unique_ptr<HandoverQueue<Group>> groups;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::shared_ptr<const text::ChatTemplate> chat_template;
  std::unique_ptr<ModelDevice> device;
  DeviceFacts facts;
  std::unique_ptr<coordinator::Gate> gate;
  std::unique_ptr<samples::Store> store;
  std::unique_ptr<JournalSink> sink;
  std::optional<samples::Recovered> recovered;     // of a resumed run
  ResumedGroups resumed_groups;
  gateway::Attempts attempts;
  RolloutAdapter rollout_port;
  std::unique_ptr<gateway::Server> server;
  std::unique_ptr<rollouts::Controller> controller;
  std::unique_ptr<Evaluation> evaluation;
  std::unique_ptr<coordinator::Coordinator> coordinator;
  std::unique_ptr<Progress> progress;
  std::unique_ptr<boost::asio::signal_set> signals;
  std::unique_ptr<boost::asio::steady_timer> watch_timer;

  // State of the run.
  int exit_code = kExitDone;
  bool is_stopping = false, was_signalled = false;
  double started_unix_seconds = 0;
  std::optional<EvaluationResult> last_evaluation;
  std::optional<double> held_out_at_start;  // before the first update, also of a resumed run
  std::string checkpoint_error;            // of the last one that was begun; empty: it was written
  EngineWatch engine_watch;
  RolloutId tried;

  // daemon_build.cc: bottom-up.
  Result<void> build();
  Result<void> build_data();
  Result<void> build_spawner();
  Result<void> build_run();
  Result<void> build_journal();
  Result<void> build_device();
  Result<void> build_samples();
  Result<void> build_gateway();
  Result<void> build_rollouts();
  void build_coordinator();
  coordinator::Plan plan() const;
  rollouts::ControllerPorts controller_ports();
  coordinator::CoordinatorPorts coordinator_ports();
  // daemon_resume.cc
  coordinator::Progress recover();
  void keep_with_checkpoints();
  Result<coordinator::OpenedGroup> open_group(std::uint64_t occurrence, PolicyVersion opened_at_least);
  Result<coordinator::OpenedGroup> reopen_group(samples::UnfinishedGroup left);
  void compare_with_lost(const UpdateReport& report) const;

  // daemon.cc: what happens while it runs.
  int run();
  void start_job();
  void on_group(std::unique_ptr<Group> group);
  void on_evaluated(FinishedRollout finished);
  void evaluate(PolicyVersion version, std::function<void()> done);
  void on_update(const UpdateReport& report, const coordinator::PhaseSeconds& seconds,
                 const std::vector<GroupId>& groups);
  void on_checkpoint(PolicyVersion version, const Result<std::string>& saved);
  void checkpoint(coordinator::OnCheckpoint done);
  void on_done();
  void fail(const std::string& reason);
  void print_summary();
  void print_start();
  std::uint64_t updates_made() const;
  std::uint64_t updates_left() const;
  double seconds_at_most() const;
  const rollouts::Task* find_task(const std::string& id) const;
  void try_task();
  void print_tried(const FinishedRollout& finished);
  void watch();
  bool is_ready() const;
  std::string state_json() const;
  std::string transcript_json(AttemptKey attempt) const;
  void on_signal();
  void finish_update();
  void stop();                           // top-down, once
  void flush_journal();
};
}  // namespace corisco::app
