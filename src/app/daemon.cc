// What happens while the daemon runs: the job, the end of each group, update, evaluation and signal.
#include "app/daemon.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <csignal>
#include <nlohmann/json.hpp>

#include "app/daemon_parts.h"
#include "app/trainer_metrics.h"
#include "corisco/base/json.h"
#include "corisco/base/log.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace {
constexpr auto kWatchPeriod = std::chrono::milliseconds(500);

// Of a daemon without a trainer, and the remedy.
const char* why_untrained(const DaemonOptions& options) {
  if (options.job != Job::serve) return "'corisco eval' and 'corisco try' train nothing, 'corisco serve' does";
  if (!options.config.engine.script.empty())
    return "engine.script answers in the model's place; leave it out, and set run.updates, to train a model";
  return "run.updates is 0; set it to train the model";
}
}  // namespace

Daemon::Daemon(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Daemon::~Daemon() = default;

Result<std::unique_ptr<Daemon>> Daemon::create(DaemonOptions options) {
  auto parts = std::make_unique<Parts>(std::move(options));
  if (const auto built = parts->build(); !built.ok()) {
    const RunFolder folder = parts->folder;
    parts.reset();                       // closes the files there
    remove_unused(folder);
    return built.error();
  }
  return std::unique_ptr<Daemon>(new Daemon(std::move(parts)));
}

int Daemon::run() { return parts_->run(); }

int Daemon::Parts::run() {
  signals = std::make_unique<boost::asio::signal_set>(io, SIGINT, SIGTERM);
  on_signal();
  watch_timer = std::make_unique<boost::asio::steady_timer>(io);
  watch();
  boost::asio::post(io, [this] { start_job(); });
  auto keep_running = boost::asio::make_work_guard(io);
  while (!is_stopping) io.run_one();
  stop();
  return exit_code;
}

void Daemon::Parts::start_job() {
  print_start();
  if (options.job == Job::try_task) return try_task();
  if (options.job == Job::evaluate) {
    coordinator->start({});
    return evaluate(facts.version, [this] { is_stopping = true; });
  }
  coordinator->start(recover());
}

void Daemon::Parts::print_start() {
  const auto& c = config();
  const auto size = facts.num_parameters > 0 ? cat(facts.num_parameters / 1000000, " M parameters; ") : std::string();
  progress->print(cat("corisco: model ", c.model.path, " (", size, facts.capability, ")"));
  progress->print(cat("corisco: serving ", server->url(), "/v1  metrics ", server->url(), "/metrics"));
  progress->print(cat("corisco: run folder ", folder.path));
  if (options.job != Job::serve) return;
  if (c.run.updates == 0) return progress->print("corisco: run.updates is 0: serving without training");
  const auto left = updates_left();
  if (left == 0) return progress->print(cat("corisco: all ", c.run.updates, " updates are made"));
  progress->print(cat("corisco: training ", left, left < c.run.updates ? " more" : "", " updates of ",
                      c.rollouts.groups_per_update, " x ", c.rollouts.group_size, " rollouts, mode ",
                      c.coordinator.mode));
  progress->print(cat("corisco: estimate up to ", duration_text(seconds_at_most()),
                      ", if every rollout made one call of ", c.sampling.max_tokens, " tokens (sampling.max_tokens)"));
}

// In the weights that a resumed run begins with.
std::uint64_t Daemon::Parts::updates_made() const {
  return recovered ? std::max(recovered->num_updates, facts.num_updates) : 0;
}

std::uint64_t Daemon::Parts::updates_left() const {
  const std::uint64_t all = config().run.updates;
  return all - std::min(all, updates_made());
}

// A sampled token costs about eight forward passes of a token: three to decode it in a batch that
// thins out, four to train on it, one for its share of the prompt.
double Daemon::Parts::seconds_at_most() const {
  constexpr double kPassesPerToken = 8;
  const auto& c = config();
  const double rollouts =
      static_cast<double>(updates_left()) * c.rollouts.groups_per_update * c.rollouts.group_size;
  return rollouts * c.sampling.max_tokens * kPassesPerToken * facts.seconds_per_token;
}

void Daemon::Parts::on_group(std::unique_ptr<Group> group) {
  const auto id = group->id;
  metrics.counter("corisco_samples_groups_total", {"complete"}).add();
  groups->push(std::move(group));
  // Posted, so that the store is not called again from within itself.
  boost::asio::post(io, [this, id] { coordinator->group_complete(id); });
}

void Daemon::Parts::on_evaluated(FinishedRollout finished) {
  boost::asio::post(io, [this, finished = std::move(finished)] {
    rollout_port.on_finished(finished);
    if (finished.spec.id == tried) return print_tried(finished);
    if (evaluation) evaluation->take(finished);
  });
}

void Daemon::Parts::evaluate(PolicyVersion version, std::function<void()> done) {
  evaluation->start(version, [this, before = device->num_sampled_tokens(),
                              done = std::move(done)](const EvaluationResult& result) {
    progress->leave_out(device->num_sampled_tokens() - before);
    progress->print(cat("evaluation at version ", result.version, ": ", to_text(result), "  (",
                        fixed(result.seconds, 1), " s)"));
    metrics::Fields fields = {{"held_out_reward", result.all.mean()},
                              {"rollouts", static_cast<std::int64_t>(result.all.count)},
                              {"failed", static_cast<std::int64_t>(result.num_failed)},
                              {"seconds", result.seconds}};
    for (const auto& [kind, score] : result.by_kind) fields.emplace_back("held_out_reward/" + kind, score.mean());
    run_log->write("evaluation", result.version.value, fields);
    metrics.counter("corisco_evaluation_passes_total").add();
    metrics.gauge("corisco_evaluation_reward_mean").set(result.all.mean());
    if (result.version.value == 0) {
      held_out_at_start = result.all.mean();
      keep_with_checkpoints();
    }
    last_evaluation = result;
    done();
  });
}

void Daemon::Parts::on_update(const UpdateReport& report, const coordinator::PhaseSeconds& seconds,
                              const std::vector<GroupId>& ids) {
  // Its line comes first: an update that the journal has is not made again.
  const auto line = progress->update_done(coordinator->updates_done(), report, seconds, device->num_sampled_tokens());
  run_log->write("update", coordinator->updates_done(), to_fields(line));
  if (journal)
    journal->append(samples::UpdatePublished{report.policy_version, ids, "", report.was_skipped,
                                             report.weights_checksum}, {});
  compare_with_lost(report);
  resumed_groups.update_made(report);
  record_metrics(report, metrics);
}

void Daemon::Parts::on_checkpoint(PolicyVersion version, const Result<std::string>& saved) {
  checkpoint_error = saved.ok() ? std::string() : saved.error().message;
  if (!saved.ok()) return log::error(cat("no checkpoint at version ", version, ": ", checkpoint_error));
  log::info(cat("checkpoint of version ", version, " in ", saved.value()));
  if (journal) journal->append(samples::UpdatePublished{version, {}, saved.value()}, {});
}

// Asked for over HTTP.
void Daemon::Parts::checkpoint(coordinator::OnCheckpoint done) {
  if (plan().updates > 0) return coordinator->checkpoint(std::move(done));
  done(Error{Code::conflict, cat("there are no trained weights to save: ", why_untrained(options))});
}

void Daemon::Parts::on_done() {
  print_summary();
  if (config().run.when_done == "serve") return log::info("all updates are made: serving until stopped");
  // After the replies to those who asked for the last checkpoint.
  boost::asio::post(io, [this] { is_stopping = true; });
}

void Daemon::Parts::print_summary() {
  const double spent = real_clock().unix_seconds() - started_unix_seconds;
  progress->print("");
  progress->print(cat("done: ", coordinator->updates_done(), " updates in ", duration_text(spent)));
  if (held_out_at_start && last_evaluation)
    progress->print(cat("held-out reward ", fixed(*held_out_at_start, 2), " -> ",
                        fixed(last_evaluation->all.mean(), 2)));
  if (const auto& last = coordinator->last_checkpoint()) {
    progress->print(cat("checkpoint  ", last->folder));
    progress->print(cat("next        ", options.executable, " try ", folder.path, "/config.yaml --set model.path=",
                        last->folder));
  }
}

void Daemon::Parts::fail(const std::string& reason) {
  if (is_stopping) return;
  log::error(cat("the run stops: ", reason));
  exit_code = kExitFailed;
  is_stopping = true;
}

void Daemon::Parts::watch() {
  const bool is_working = device->has_live_sequences() && coordinator->phase() == coordinator::Phase::generating &&
                          !coordinator->is_saving();
  engine_watch.look(device->num_steps(), is_working, real_clock().now());
  if (!spawner->is_alive()) fail("the spawner process is gone; its harnesses died with it");
  if (removal) removal->tick();
  progress->draw(coordinator->updates_done(), to_string(coordinator->phase()), device->train_progress());
  watch_timer->expires_after(kWatchPeriod);
  watch_timer->async_wait([this](boost::system::error_code error) {
    if (!error) watch();
  });
}

bool Daemon::Parts::is_ready() const {
  return !is_stopping && !engine_watch.is_stuck(real_clock().now());
}

std::string Daemon::Parts::state_json() const {
  using Json = nlohmann::ordered_json;
  const auto& last = coordinator->last_checkpoint();
  const Json state = {
      {"run", folder.name},
      {"folder", folder.path},
      {"phase", to_string(coordinator->phase())},
      {"paused", coordinator->is_paused()},
      {"evaluating", coordinator->is_evaluating()},
      {"policy_version", coordinator->version().value},
      {"updates_done", coordinator->updates_done()},
      {"updates", plan().updates},
      {"checkpoint_version", last ? Json(last->version.value) : Json()},
      {"checkpoint", last ? Json(last->folder) : Json()},
      {"checkpoint_pending", coordinator->is_checkpoint_pending()},
      {"checkpoint_error", checkpoint_error.empty() ? Json() : Json(checkpoint_error)},
      {"groups_active", coordinator->num_groups_active()},
      {"groups_complete", coordinator->num_groups_complete()},
      {"rollouts_open", controller->num_open()},
      {"harnesses_running", controller->num_running()},
      {"requests_inside", gate->num_inside()},
      {"requests_held", gate->num_waiting()},
      {"train_progress", device->train_progress()},
      {"uptime_seconds", real_clock().unix_seconds() - started_unix_seconds}};
  return json_text(state);
}

std::string Daemon::Parts::transcript_json(AttemptKey attempt) const {
  nlohmann::json transcript = nlohmann::json::array();
  const auto* calls = store->calls(attempt);
  if (calls == nullptr) return "[]";
  for (const auto& call : *calls) {
    transcript.push_back({{"turn", call.turn},
                          {"choice", call.choice},
                          {"messages", parse_json(call.request_json.items())},
                          {"reply", call.reply_text},
                          {"parse_errors", call.parse_errors},
                          {"finish", to_string(call.finish)},
                          {"num_tokens", call.tokens.size()}});
  }
  return json_text(transcript);
}

// The first signal stops the run in order; a second one ends the process at once, and the spawner,
// which sees that, ends every harness.
void Daemon::Parts::on_signal() {
  signals->async_wait([this](boost::system::error_code error, int number) {
    if (error) return;
    log::warn(cat("signal ", number, ": stopping; a second one ends the process at once"));
    is_stopping = was_signalled = true;
    std::signal(SIGINT, [](int) { std::_Exit(kExitForced); });
    std::signal(SIGTERM, [](int) { std::_Exit(kExitForced); });
  });
}

// For a checkpoint: an update under way is finished, no further one begins.
void Daemon::Parts::finish_update() {
  coordinator->set_paused(true);
  while (coordinator->phase() == coordinator::Phase::draining || coordinator->phase() == coordinator::Phase::training ||
         coordinator->phase() == coordinator::Phase::publishing) {
    io.run_one_for(std::chrono::milliseconds(50));
  }
}

void Daemon::Parts::stop() {
  const bool wants_checkpoint = was_signalled && config().shutdown.checkpoint && exit_code == kExitDone;
  if (wants_checkpoint) finish_update();
  const bool saves = wants_checkpoint && coordinator->updates_done() > 0;
  if (saves) coordinator->checkpoint([](const auto&) {});
  coordinator->stop();
  gate->close();
  server->stop();
  bool rollouts_ended = false;
  controller->stop([&] { rollouts_ended = true; });
  const auto deadline = real_clock().now() + std::chrono::seconds(3);
  const auto is_quiet = [&] { return rollouts_ended && gate->num_inside() == 0; };
  while ((saves && coordinator->is_saving()) || (!is_quiet() && real_clock().now() < deadline))
    io.run_one_for(std::chrono::milliseconds(50));
  watch_timer->cancel();
  signals->cancel();
  spawner.reset();                       // ends what is left of the trees
  device.reset();                        // between two layers; an unfinished update is discarded
  if (journal) flush_journal();
}

// A write that failed is told by the first flush after it; what is missing still fails the second one too.
void Daemon::Parts::flush_journal() {
  if (auto flushed = journal->flush(); flushed.ok()) return;
  const auto again = journal->flush();
  if (again.ok()) return;
  log::error(cat("the journal lacks what the run did last: ", again.error().message));
  if (exit_code == kExitDone) exit_code = kExitFailed;
}
}  // namespace corisco::app
