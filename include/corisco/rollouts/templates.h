// Templates of commands and environment variables: {task.KEY}, {base_url}, ... are filled in;
// {{ and }} are braces. Pure; a key that is missing is an error, never an empty string.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "corisco/base/result.h"
#include "corisco/config/config.h"
#include "corisco/rollouts/tasks.h"

namespace corisco::rollouts {
// The names besides task.KEY: base_url, api_key, rollout_id, attempt, task_file, reward_file,
// work_folder, home_folder, config_folder.
using TemplateNames = std::map<std::string, std::string>;

// Fills templates for one task. {task.a.b} is the field b of the object a: a string as it is,
// anything else as JSON. A key with dots of its own is found before a nested one.
class TemplateFiller {
 public:
  TemplateFiller(const Task& task, TemplateNames names);
  ~TemplateFiller();
  // The error names the key and the task's id.
  Result<std::string> fill(std::string_view text) const;
  Result<std::vector<std::string>> fill_all(const std::vector<std::string>& texts) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Fills every template of the harness, a preset's too, and of the reward for every task; the first
// problem is the error.
Result<void> check_templates(const config::Rollouts& rollouts, const Tasks& tasks);
}  // namespace corisco::rollouts
