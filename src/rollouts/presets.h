// The agents that rollouts.harness.preset knows by name. A preset is what a user could have written
// as a command, environment variables and files, with the traps of each agent seen to: its page in
// docs/harnesses says which. Pure but for looking a program up on the PATH.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "corisco/config/config.h"

namespace corisco::rollouts {
// Everything in it is a template.
struct HarnessForm {
  std::vector<std::string> command;              // empty: a Python function, or it runs elsewhere
  std::map<std::string, std::string> env;
  std::map<std::string, std::string> files;      // "path within {home_folder}" -> text
};

// What agents are told about the model.
struct ModelFacts {
  std::string name = "policy";
  std::uint32_t context_tokens = 0;              // 0: not known, so the agent goes by its own guess
  std::uint32_t reply_tokens = 0;
};
ModelFacts model_facts(const config::Config& config);

// The preset's form with the harness's own env over it, or the command and env as they are.
HarnessForm harness_form(const config::Harness& harness, const ModelFacts& model);
}  // namespace corisco::rollouts
