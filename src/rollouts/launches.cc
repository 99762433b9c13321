#include "rollouts/launches.h"

#include <nlohmann/json.hpp>

#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "corisco/rollouts/templates.h"
#include "rollouts/environment.h"

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
                         {"config_folder", context.config_folder}});
}

std::string rollout_json(const LaunchContext& context, const GraderView& view) {
  return cat("{\"calls\":", view.calls_json.empty() ? "[]" : view.calls_json,
             ",\"outcome\":", quoted(view.outcome), ",\"output\":", quoted(view.output),
             ",\"work_folder\":", quoted(context.folder.work_folder), "}");
}
}  // namespace

Result<Launch> harness_launch(const LaunchContext& context) {
  const auto& rollouts = context.config->rollouts;
  const TemplateFiller filler = filler_for(context);
  Launch launch;
  launch.attempt = context.attempt;
  launch.env = passed_environment(rollouts.harness.env_pass);
  add_contract(contract_of(context), launch.env);
  for (const auto& [name, text] : rollouts.harness.env) {
    CORISCO_TRY(launch.env[name], filler.fill(text));
  }
  if (rollouts.harness.python.empty()) {
    CORISCO_TRY(launch.argv, filler.fill_all(rollouts.harness.command));
  } else {
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
