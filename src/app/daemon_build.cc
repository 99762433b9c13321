// How the daemon is put together: one step per part, bottom-up, each with its own errors.
#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "app/call_id_secret.h"
#include "app/daemon_parts.h"
#include "app/device_thread.h"
#include "app/resume_check.h"
#include "app/scripted_device.h"
#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/base/log.h"
#include "corisco/base/strings.h"
#include "corisco/model/runtime.h"
#include "corisco/rollouts/agent_start.h"
#include "corisco/rollouts/templates.h"

namespace corisco::app {
namespace {
// "qwen2"; empty if the config does not say.
std::string model_type_of(const std::string& model_folder) {
  const auto text = files::read(model_folder + "/config.json");
  const auto json = parse_json(text.ok() ? text.value() : "");
  return json.is_object() ? json.value("model_type", "") : "";
}

std::string sha256_of(const std::optional<rollouts::Tasks>& tasks) { return tasks ? tasks->sha256() : ""; }

// A connection is an open file, and shells often allow no more than 1024; after the spawner has started,
// so that harnesses keep what they are used to.
void allow_connections(std::uint32_t connections_max) {
  constexpr rlim_t kOtherFiles = 256;
  const rlim_t needed = kOtherFiles + gateway::kConnectionsReserve + connections_max;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min(limit.rlim_max, needed));
  ::setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < needed)
    log::warn(cat("this process may open ", limit.rlim_cur, " files, too few for gateway.connections_max (",
                  connections_max, "): raise the hard limit (ulimit -Hn)"));
}
}  // namespace

Result<void> Daemon::Parts::build() {
  started_unix_seconds = real_clock().unix_seconds();
  CORISCO_CHECK(build_data());
  CORISCO_CHECK(build_spawner());
  CORISCO_CHECK(build_run());
  CORISCO_CHECK(build_device());
  CORISCO_CHECK(build_samples());
  CORISCO_CHECK(build_gateway());
  CORISCO_CHECK(build_rollouts());
  build_coordinator();
  return {};
}

// Everything that can be wrong with files is found before anything is started.
Result<void> Daemon::Parts::build_data() {
  if (options.resume && config().run.updates == 0)
    return Error{Code::invalid_argument,
                 "--resume continues a training, and run.updates is 0: to serve a checkpoint, set model.path to its "
                 "folder"};
  if (options.accept_changes && !options.resume)
    return Error{Code::invalid_argument,
                 "--accept-changes belongs to --resume: a new run has nothing that could have changed"};
  if (options.resume && config().samples.durability == "off")
    return Error{Code::invalid_argument,
                 "--resume needs the journal, which says what was trained, and samples.durability is off"};
  if (!options.checkpoint.empty()) options.config.model.path = options.checkpoint;
  if (auto problem = model::device_problem(config().model.device); !problem.empty() && config().engine.script.empty())
    return Error{Code::unavailable, cat("model.device: ", problem)};
  const bool needs_tasks = options.job == Job::serve && config().run.updates > 0;
  if (needs_tasks || (!config().rollouts.tasks.empty() && options.job == Job::try_task)) {
    CORISCO_TRY(tasks, rollouts::Tasks::load(config().rollouts.tasks, config().rollouts.shuffle, config().run.seed));
  }
  if (!config().evaluation.tasks.empty()) {
    CORISCO_TRY(heldout, rollouts::Tasks::load(config().evaluation.tasks, false, 0));
  }
  if (options.job == Job::evaluate && !heldout)
    return Error{Code::invalid_argument, "evaluation.tasks is empty: name a JSON lines file of held-out tasks"};
  if (options.job == Job::try_task && !tasks && !heldout)
    return Error{Code::invalid_argument, "no tasks to try: set rollouts.tasks or evaluation.tasks"};
  if (options.job == Job::try_task && find_task(options.task) == nullptr)
    return Error{Code::not_found, cat("no task has the id \"", options.task, "\": a task without the field id has its "
                                      "line's number as one")};
  if (tasks || heldout) CORISCO_CHECK(rollouts::check_program(config().rollouts.harness));
  for (const auto* set : {tasks ? &*tasks : nullptr, heldout ? &*heldout : nullptr})
    if (set != nullptr) CORISCO_CHECK(rollouts::check_templates(config().rollouts, *set));
  CORISCO_TRY(tokenizer, text::Tokenizer::load(config().model.path));
  CORISCO_TRY(chat_template, text::ChatTemplate::load(config().model.path));
  return {};
}

Result<void> Daemon::Parts::build_spawner() {
  CORISCO_TRY(spawner, rollouts::Spawner::create(rollouts::spawner_options(config().rollouts, options.executable)));
  return {};
}

Result<void> Daemon::Parts::build_run() {
  auto run = config().run;
  if (options.job == Job::evaluate) run.name += "-eval";
  if (options.job == Job::try_task) run.name += "-try";
  CORISCO_TRY(folder, open_run_folder(run, options.resume));
  log::set_file(folder.log_file());
  if (config().samples.durability != "off") CORISCO_CHECK(build_journal());
  if (folder.is_resumed)
    CORISCO_CHECK(check_resume(folder, config(), sha256_of(tasks), sha256_of(heldout), options.accept_changes));
  // Nothing of the folder is touched before the journal's lock says that it is ours.
  CORISCO_TRY(run_log, metrics::RunLog::open(folder.path, config().metrics.tensorboard));
  return {};
}

Result<void> Daemon::Parts::build_journal() {
  const auto& c = config().samples;
  std::error_code unknown;
  const bool is_there = std::filesystem::exists(folder.path + "/journal.bin", unknown);
  if (folder.is_resumed && !is_there && !std::filesystem::is_empty(folder.checkpoints(), unknown))
    return Error{Code::not_found, cat("nothing says what was trained: ", folder.path,
                                      " has checkpoints but no journal.bin (samples.durability: off leaves none)")};
  samples::JournalOptions journal_options;
  journal_options.metrics = &metrics;
  journal_options.on_stuck = [this](const std::string& why) {
    boost::asio::post(io, [this, why] { fail(cat("the journal cannot keep what the run did: ", why)); });
  };
  if (c.durability == "strict") journal_options.durability = samples::Durability::strict;
  CORISCO_TRY(journal, samples::Journal::open(folder.path, folder.name, journal_options));
  if (journal->torn_bytes() > 0)
    log::warn(cat("the journal's last ", journal->torn_bytes(), " bytes were torn by a crash and are cut"));
  removal = std::make_unique<DailyRemoval>(*journal, folder.checkpoints(), c.retention_days, real_clock());
  return {};
}

Result<void> Daemon::Parts::build_device() {
  const auto& rollouts = config().rollouts;
  const auto active = std::max(rollouts.groups_active_max, rollouts.groups_per_update);
  groups = std::make_unique<HandoverQueue<Group>>(2 * active + 1);  // open ones, and those adopted on resume
  DeviceOptions device_options;
  device_options.config = &options.config;
  device_options.io = &io;
  device_options.metrics = &metrics;
  device_options.tokenizer = tokenizer;
  device_options.groups = groups.get();
  device_options.checkpoint_folder = folder.checkpoints();
  device_options.has_trainer = options.job == Job::serve && config().run.updates > 0;
  device_options.restore = folder.is_resumed;
  // On the disk before a checkpoint that has learnt from it.
  device_options.before_save = [this] { return journal ? journal->flush() : Result<void>(); };
  device_options.on_suspended = [this](bool is_suspended) { attempts.set_suspended(is_suspended); };
  if (config().engine.script.empty()) device = std::make_unique<DeviceThread>(std::move(device_options));
  else device = std::make_unique<ScriptedDevice>(std::move(device_options));
  CORISCO_TRY(facts, device->start());
  if (has_manifest(folder)) return {};
  return write_manifest(folder, config(), facts.capability, sha256_of(tasks), sha256_of(heldout));
}

Result<void> Daemon::Parts::build_samples() {
  gate = std::make_unique<coordinator::Gate>(io.get_executor());
  store = std::make_unique<samples::Store>(
      journal.get(), [this](std::unique_ptr<Group> group) { on_group(std::move(group)); },
      [this](FinishedRollout finished) { on_evaluated(std::move(finished)); });
  sink = std::make_unique<JournalSink>(*store, journal.get(), metrics);
  if (folder.is_resumed && journal) {
    CORISCO_TRY(recovered, samples::recover(folder.path, facts.version));
  }
  return {};
}

Result<void> Daemon::Parts::build_gateway() {
  allow_connections(config().gateway.connections_max);
  gateway::ServerParts parts;
  parts.io = &io;
  parts.config = &options.config;
  parts.clock = &real_clock();
  parts.gate = gate.get();
  parts.generator = device.get();
  parts.calls = sink.get();
  parts.rollouts = &rollout_port;
  parts.attempts = &attempts;
  CORISCO_TRY(parts.call_id_secret, call_id_secret(folder.path));
  if (recovered) parts.first_call_id = recovered->next_call;
  parts.metrics = &metrics;
  parts.tokenizer = tokenizer;
  parts.chat_template = chat_template;
  parts.reply_syntax =
      gateway::reply_syntax_of(config().gateway, chat_template->source(), model_type_of(config().model.path));
  if (!parts.reply_syntax.tool_parser.empty())
    log::info(cat("tool calls are read as ", parts.reply_syntax.tool_parser, " writes them"));
  parts.end_ids = facts.end_ids;
  parts.model_name = std::filesystem::path(config().model.path).filename().string();
  parts.is_ready = [this] { return is_ready(); };
  parts.state_json = [this] { return state_json(); };
  parts.set_paused = [this](bool pause) { coordinator->set_paused(pause); };
  parts.checkpoint = [this](coordinator::OnCheckpoint done) { checkpoint(std::move(done)); };
  server = std::make_unique<gateway::Server>(std::move(parts));
  return server->start();
}

Result<void> Daemon::Parts::build_rollouts() {
  if (spawner) spawner->attach(io);
  rollouts::ControllerParts parts;
  parts.io = &io;
  parts.clock = &real_clock();
  parts.config = &options.config;
  parts.sandbox = spawner.get();
  parts.metrics = &metrics;
  parts.run_folder = folder.path;
  parts.gateway_url = server->url();
  parts.ports = controller_ports();
  controller = std::make_unique<rollouts::Controller>(std::move(parts));
  rollout_port.bind(controller.get(), store.get());
  if (heldout) {
    evaluation = std::make_unique<Evaluation>(
        *heldout, config().evaluation.rollouts_per_task, folder.path,
        [this](const rollouts::Task& task, std::uint64_t index, std::uint32_t repeat) {
          return controller->open_validation(task, index, repeat);
        });
  }
  return {};
}

rollouts::ControllerPorts Daemon::Parts::controller_ports() {
  rollouts::ControllerPorts ports;
  const auto to_summary = [](const gateway::AttemptSummary& from) {
    return rollouts::ControllerPorts::Summary{from.num_calls, from.num_delivered, from.hit_call_cap || from.hit_context,
                                              from.hit_length, from.saw_engine_error, from.held_seconds};
  };
  ports.open_attempt = [this](const RolloutSpec& spec, std::uint32_t attempt, std::uint64_t salt) {
    return attempts.open({{spec.id, attempt}, spec.mode, spec.task_occurrence, spec.sibling, salt, spec.id.value,
                          real_clock().unix_seconds()});
  };
  ports.close_attempt = [this, to_summary](AttemptKey attempt) { return to_summary(attempts.close(attempt)); };
  ports.look_at_attempt = [this, to_summary](AttemptKey attempt) { return to_summary(attempts.summary(attempt)); };
  ports.open_group = [this](GroupId id, std::uint64_t occurrence, std::uint32_t siblings) {
    metrics.counter("corisco_samples_groups_total", {"opened"}).add();
    return store->open_group(id, occurrence, siblings, device->policy_version());
  };
  ports.open_rollout = [this](const RolloutSpec& spec) { return store->open_rollout(spec); };
  ports.reopen_rollout = [this](const RolloutSpec& spec, std::uint32_t attempts_before) {
    return store->reopen_rollout(spec, attempts_before);
  };
  ports.start_attempt = [this](AttemptKey attempt, std::uint64_t salt) { return store->start_attempt(attempt, salt); };
  ports.finish = [this](FinishedRollout finished) { return store->finish(std::move(finished)); };
  ports.transcript_json = [this](AttemptKey attempt) { return transcript_json(attempt); };
  ports.on_broken = [this](std::string reason) { fail(reason); };
  return ports;
}

coordinator::Plan Daemon::Parts::plan() const {
  const auto& c = config();
  coordinator::Plan plan;
  plan.updates = options.job == Job::serve ? c.run.updates : 0;
  plan.evaluate_every = heldout ? c.evaluation.every : 0;
  plan.evaluate_at_start = heldout && c.evaluation.at_start && plan.updates > 0;
  plan.evaluate_at_end = heldout && c.evaluation.at_end;
  plan.checkpoint_every = c.trainer.checkpoint_every;
  plan.drain_seconds_max = c.coordinator.drain_seconds_max;
  const bool is_async = c.coordinator.mode == "collocated_async";
  plan.window.groups_per_update = c.rollouts.groups_per_update;
  plan.window.groups_active_max =
      is_async ? std::max(c.rollouts.groups_active_max, c.rollouts.groups_per_update) : c.rollouts.groups_per_update;
  plan.window.policy_age_max = is_async ? c.coordinator.policy_age_max : 0;
  return plan;
}

coordinator::CoordinatorPorts Daemon::Parts::coordinator_ports() {
  coordinator::CoordinatorPorts ports;
  ports.open_group = [this](std::uint64_t occurrence, PolicyVersion opened_at_least) {
    return open_group(occurrence, opened_at_least);
  };
  ports.is_for_later = [this](std::uint64_t occurrence) { return resumed_groups.is_for_later(occurrence); };
  ports.evaluate = [this](PolicyVersion version, std::function<void()> done) { evaluate(version, std::move(done)); };
  ports.on_update = [this](const UpdateReport& report, const coordinator::PhaseSeconds& seconds,
                           const std::vector<GroupId>& ids) { on_update(report, seconds, ids); };
  ports.on_checkpoint = [this](PolicyVersion version, const Result<std::string>& saved) {
    on_checkpoint(version, saved);
  };
  ports.on_done = [this] { on_done(); };
  ports.on_failed = [this](const std::string& reason) { fail(reason); };
  return ports;
}

void Daemon::Parts::build_coordinator() {
  coordinator = std::make_unique<coordinator::Coordinator>(io, real_clock(), *gate, *device, metrics, plan(),
                                                           coordinator_ports());
  progress = std::make_unique<Progress>(plan().updates);
}
}  // namespace corisco::app
