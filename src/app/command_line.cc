#include "app/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "app/daemon.h"
#include "app/exit_codes.h"
#include "app/inspect/inspect.h"
#include "app/launch_agent.h"
#include "app/repair.h"
#include "app/replay.h"
#include "app/status.h"
#include "app/version.h"
#include "corisco/base/log.h"
#include "corisco/base/strings.h"
#include "corisco/config/load.h"
#include "corisco/metrics/registry.h"

namespace corisco::app {
namespace {
struct Arguments {
  std::string config_file;
  std::vector<std::string> overrides;
  bool resume = false;
  bool accept_changes = false;
  std::string task;
  std::string checkpoint;
  std::string url;
  std::string page;
  std::string damaged_run;
  rollouts::AgentStart agent;
  InspectOptions inspected;
  ReplayOptions replayed;
};

int print_problems(const std::vector<config::Problem>& problems, const std::string& file) {
  for (const auto& problem : problems) std::fprintf(stderr, "%s\n", config::to_string(problem, file).c_str());
  std::fprintf(stderr, "%zu problem%s\n", problems.size(), problems.size() == 1 ? "" : "s");
  return kExitBadStart;
}

// Loads the config, or prints every problem and returns the exit code.
int load(const Arguments& arguments, config::Config& config) {
  auto loaded = config::load(arguments.config_file, arguments.overrides);
  if (!loaded.ok()) {
    std::fprintf(stderr, "%s\n", loaded.error().message.c_str());
    return kExitBadStart;
  }
  if (!loaded.value().problems.empty()) return print_problems(loaded.value().problems, arguments.config_file);
  config = std::move(loaded.value().config);
  return kExitDone;
}

log::Level level_of(const std::string& name) {
  if (name == "debug") return log::Level::debug;
  if (name == "warn") return log::Level::warn;
  return name == "error" ? log::Level::error : log::Level::info;
}

int run_daemon(const Arguments& arguments, Job job) {
  DaemonOptions options;
  if (const int code = load(arguments, options.config); code != kExitDone) return code;
  log::set_level(level_of(options.config.run.log_level));
  options.job = job;
  options.resume = arguments.resume;
  options.accept_changes = arguments.accept_changes;
  options.task = arguments.task;
  options.checkpoint = arguments.checkpoint;
  options.executable = std::filesystem::read_symlink("/proc/self/exe").string();
  auto daemon = Daemon::create(std::move(options));
  if (!daemon.ok()) {
    std::fprintf(stderr, "error: %s\n", daemon.error().message.c_str());
    return kExitBadStart;
  }
  return daemon.value()->run();
}

int check(const Arguments& arguments) {
  config::Config config;
  if (const int code = load(arguments, config); code != kExitDone) return code;
  std::printf("%s: no problems\n", arguments.config_file.c_str());
  return kExitDone;
}

int print_config(const Arguments& arguments) {
  config::Config config;
  if (const int code = load(arguments, config); code != kExitDone) return code;
  std::fputs(config::to_yaml(config).c_str(), stdout);
  return kExitDone;
}

int print_reference(const Arguments& arguments) {
  const auto text = arguments.page == "metrics" ? metrics::reference_page() : config::reference_page();
  std::fputs(text.c_str(), stdout);
  return kExitDone;
}

void add_agent(CLI::App& command, rollouts::AgentStart& agent) {
  command.add_option("NAME", agent.preset, "As in rollouts.harness.preset")
      ->check(CLI::IsMember(rollouts::preset_names()))->required();
  command.add_option("URL", agent.url, "The server's address, without /v1")->required();
  command.add_option("FOLDER", agent.folder, "The agent works in its work/, with its home/ as HOME")->required();
  command.add_option("PROMPT", agent.prompt, "What to do")->required();
  command.add_option("--model", agent.model, "Name of the model")->default_val("policy");
  command.add_option("--key", agent.api_key, "Key that the server asks for")->default_val("none");
}

void add_overrides(CLI::App& command, std::vector<std::string>& overrides) {
  command.add_option("--set", overrides, "Override a key: --set a.b=c")->type_size(1)->allow_extra_args(false);
}

void add_config(CLI::App& command, Arguments& arguments) {
  command.add_option("CONFIG", arguments.config_file, "YAML file")->required();
  add_overrides(command, arguments.overrides);
}

constexpr const char* kRunHelp = "A run's folder, the name of one in ./runs, or a config file: its newest run";

void add_inspect(CLI::App& command, InspectOptions& options) {
  command.add_option("RUN", options.run, kRunHelp)->required();
  command.add_option("ROLLOUT", options.rollout.value, "One rollout, call by call; all of them in a table if left out");
  command.add_flag("--json", options.as_json, "One JSON object, for scripts");
  command.add_flag("--tokens", options.all_tokens, "Every token of each call, not only the first and last few");
}

void add_replay(CLI::App& command, ReplayOptions& options) {
  command.add_option("RUN", options.run, kRunHelp)->required();
  command.add_option("--update", options.version.value, "The version that the update made")->required();
  command.add_option("--out", options.out, "Save the result as a checkpoint in this new folder");
  add_overrides(command, options.overrides);
}
}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app{"Corisco trains a language model inside the agent programs that already use it."};
  app.set_version_flag("--version", cat("corisco ", kVersion));
  app.require_subcommand(1);
  Arguments arguments;
  int code = kExitDone;

  auto* serve = app.add_subcommand("serve", "Serve the model, and train it if the config says so");
  add_config(*serve, arguments);
  serve->add_flag("--resume", arguments.resume, "Continue the newest run of this name from its last checkpoint");
  serve->add_flag("--accept-changes", arguments.accept_changes,
                  "With --resume: go on although the config, tasks or model changed");
  serve->callback([&] { code = run_daemon(arguments, Job::serve); });

  auto* check_command = app.add_subcommand("check", "List every problem of a config");
  add_config(*check_command, arguments);
  check_command->callback([&] { code = check(arguments); });

  auto* config_command = app.add_subcommand("config", "Print what is in force, defaults included");
  add_config(*config_command, arguments);
  config_command->callback([&] { code = print_config(arguments); });

  auto* try_command = app.add_subcommand("try", "Run one rollout without training; show its calls, tokens and reward");
  add_config(*try_command, arguments);
  try_command->add_option("TASK", arguments.task, "A task's id; the first one if left out");
  try_command->callback([&] { code = run_daemon(arguments, Job::try_task); });

  auto* eval_command = app.add_subcommand("eval", "Run the held-out tasks once and print the rewards");
  add_config(*eval_command, arguments);
  eval_command->add_option("--checkpoint", arguments.checkpoint, "A checkpoint's folder instead of model.path");
  eval_command->callback([&] { code = run_daemon(arguments, Job::evaluate); });

  auto* inspect_command = app.add_subcommand("inspect", "What became of a run's rollouts, tokens and updates");
  add_inspect(*inspect_command, arguments.inspected);
  inspect_command->callback([&] { code = inspect(arguments.inspected); });

  auto* replay_command = app.add_subcommand("replay", "Make an update again from the journal, without generating");
  add_replay(*replay_command, arguments.replayed);
  replay_command->callback([&] { code = replay(arguments.replayed); });

  auto* launch_command = app.add_subcommand("launch", "Start an agent as its preset does, against any server");
  add_agent(*launch_command, arguments.agent);
  launch_command->callback([&] { code = launch_agent(arguments.agent); });

  auto* status_command = app.add_subcommand("status", "Ask a running daemon what it does");
  status_command->add_option("URL", arguments.url, "Its address")->default_val("http://127.0.0.1:8080");
  status_command->callback([&] { code = print_status(arguments.url); });

  auto* repair_command = app.add_subcommand("repair", "Save what can be read of a run's damaged journal");
  repair_command->add_option("RUN", arguments.damaged_run, kRunHelp)->required();
  repair_command->callback([&] { code = repair(arguments.damaged_run); });

  auto* reference = app.add_subcommand("reference", "Print a generated reference page: config or metrics");
  reference->add_option("PAGE", arguments.page, "config or metrics")
      ->check(CLI::IsMember({"config", "metrics"}))->required();
  reference->callback([&] { code = print_reference(arguments); });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int parsed = app.exit(error);
    return parsed == 0 ? kExitDone : kExitBadStart;
  }
  return code;
}
}  // namespace corisco::app
