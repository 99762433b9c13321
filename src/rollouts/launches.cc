#include "rollouts/launches.h"

#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "corisco/rollouts/agent_start.h"
#include "corisco/rollouts/templates.h"
#include "rollouts/environment.h"
#include "rollouts/presets.h"

namespace corisco::rollouts {
namespace {
constexpr std::uint64_t kGraderOutputBytesMax = 1U << 20;

std::string quoted(const std::string& text) { return json_text(nlohmann::json(text)); }

HarnessContract contract_of(const LaunchContext& context) {
  return {context.attempt, context.gateway_url, context.api_key, context.folder.task_file,
          context.folder.reward_file};
}

TemplateFiller filler_for(const LaunchContext& context) {
  return TemplateFiller(Task{context.spec->task_id, context.spec->task_json},
                        {{"base_url", attempt_url(contract_of(context)) + "/v1"},
                         {"api_key", context.api_key},
                         {"rollout_id", std::to_string(context.attempt.rollout.value)},
                         {"attempt", std::to_string(context.attempt.attempt)},
                         {"task_file", context.folder.task_file},
                         {"reward_file", context.folder.reward_file},
                         {"work_folder", context.folder.work_folder},
                         {"home_folder", context.folder.home_folder},
                         {"config_folder", context.config_folder}});
}

std::string rollout_json(const LaunchContext& context, const GraderView& view) {
  return cat("{\"calls\":", view.calls_json.empty() ? "[]" : view.calls_json,
             ",\"outcome\":", quoted(view.outcome), ",\"output\":", quoted(view.output),
             ",\"work_folder\":", quoted(context.folder.work_folder), "}");
}

// OpenHands's terminal is a tmux server; where its socket's path is too long it does nothing at all and exits with 0.
Result<void> check_socket_path(const Environment& environment) {
  constexpr std::size_t kPathBytesMax = 107;
  const auto folder = environment.find("TMUX_TMPDIR");
  if (folder == environment.end()) return {};
  const std::string socket = cat(folder->second, "/tmux-", ::getuid(), "/openhands");
  if (socket.size() <= kPathBytesMax) return {};
  return Error{Code::invalid_argument,
               cat("the path of OpenHands's terminal, ", socket, ", is longer than ", kPathBytesMax,
                   " bytes: choose a shorter run.folder")};
}

// Fills a form into a launch, whose environment begins with the contract, and writes its files.
Result<void> fill_in(const HarnessForm& form, const TemplateFiller& filler, const std::string& home_folder,
                     Launch& launch) {
  for (const auto& [name, text] : form.env) {
    CORISCO_TRY(launch.env[name], filler.fill(text));
  }
  CORISCO_CHECK(check_socket_path(launch.env));
  for (const auto& [name, text] : form.files) {
    CORISCO_TRY(const std::string content, filler.fill(text));
    const std::filesystem::path path = home_folder + "/" + name;
    std::error_code error;  // the write tells it
    std::filesystem::create_directories(path.parent_path(), error);
    CORISCO_CHECK(write_private(path.string(), content));
  }
  CORISCO_TRY(launch.argv, filler.fill_all(form.command));
  return {};
}
}  // namespace

Result<Launch> agent_launch(const AgentStart& start) {
  config::Harness harness;
  harness.preset = start.preset;
  CORISCO_CHECK(check_program(harness));
  std::error_code error;  // writing or starting there tells it
  std::filesystem::create_directories(start.folder, error);
  const std::string folder = std::filesystem::absolute(start.folder, error).lexically_normal().string();
  Launch launch;
  launch.work_folder = folder + "/work";
  const std::string home_folder = folder + "/home";
  for (const auto& inner : {launch.work_folder, home_folder}) std::filesystem::create_directories(inner, error);
  launch.env = passed_environment({});
  add_address(start.url, start.api_key, launch.env);
  ModelFacts model;
  model.name = start.model;
  const Task task{"", json_text(nlohmann::json{{"prompt", start.prompt}})};
  const TemplateFiller filler(
      task, {{"base_url", start.url + "/v1"}, {"api_key", start.api_key}, {"home_folder", home_folder}});
  CORISCO_CHECK(fill_in(harness_form(harness, model), filler, home_folder, launch));
  return launch;
}

Result<Launch> harness_launch(const LaunchContext& context) {
  const auto& rollouts = context.config->rollouts;
  const TemplateFiller filler = filler_for(context);
  Launch launch;
  launch.attempt = context.attempt;
  launch.env = passed_environment(rollouts.harness.env_pass);
  add_contract(contract_of(context), launch.env);
  const HarnessForm form = harness_form(rollouts.harness, model_facts(*context.config));
  CORISCO_CHECK(fill_in(form, filler, context.folder.home_folder, launch));
  if (!rollouts.harness.python.empty()) {
    launch.python_function = rollouts.harness.python;
    launch.python_argument_json = cat("[", context.spec->task_json, "]");
  }
  launch.work_folder = context.folder.work_folder;
  launch.output_file = context.folder.output_file;
  launch.result_file = context.folder.result_file;
  launch.output_bytes_max = rollouts.output_bytes_max;
  launch.memory_mb_max = rollouts.memory_mb_max;
  launch.tree_memory_mb_max = rollouts.tree_memory_mb_max;
  launch.tree_processes_max = rollouts.tree_processes_max;
  return launch;
}

Result<Launch> grader_launch(const LaunchContext& context, const GraderView& view) {
  const auto& rollouts = context.config->rollouts;
  Launch launch;
  launch.attempt = context.attempt;
  launch.env = passed_environment(rollouts.harness.env_pass);
  launch.env["CORISCO_TASK"] = context.folder.task_file;
  launch.env["CORISCO_REWARD_FILE"] = context.folder.reward_file;
  launch.env["CORISCO_ROLLOUT"] = context.folder.rollout_file;
  launch.env["CORISCO_ROLLOUT_ID"] = std::to_string(context.attempt.rollout.value);
  if (rollouts.reward.source == "python") {
    launch.python_function = rollouts.reward.python;
    launch.python_argument_json =
        cat("[", context.spec->task_json, ",", rollout_json(context, view), "]");
  } else {
    CORISCO_TRY(launch.argv, filler_for(context).fill_all(rollouts.reward.command));
    CORISCO_CHECK(write_private(context.folder.rollout_file, rollout_json(context, view)));
  }
  launch.work_folder = context.folder.work_folder;
  launch.output_file = context.folder.grader_output_file;
  launch.result_file = context.folder.result_file;
  launch.output_bytes_max = kGraderOutputBytesMax;
  return launch;
}
}  // namespace corisco::rollouts
