#include "rollouts/environment.h"

#include <cstdlib>

#include "corisco/base/strings.h"

namespace corisco::rollouts {
Environment passed_environment(const std::vector<std::string>& names) {
  std::vector<std::string> all = {"PATH", "HOME", "LANG"};
  all.insert(all.end(), names.begin(), names.end());
  Environment passed;
  for (const auto& name : all) {
    if (const char* value = std::getenv(name.c_str())) passed[name] = value;
  }
  return passed;
}

std::string attempt_url(const HarnessContract& contract) {
  return cat(contract.gateway_url, "/rollout/", contract.attempt.rollout, "/attempt/",
             contract.attempt.attempt);
}

void add_address(const std::string& url, const std::string& api_key, Environment& environment) {
  for (const char* name : {"OPENAI_BASE_URL", "OPENAI_API_BASE", "AGL_OPENAI_BASE_URL"}) {
    environment[name] = url + "/v1";
  }
  environment["ANTHROPIC_BASE_URL"] = url;  // its clients add /v1 themselves
  for (const char* name :
       {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "AGL_KEY"}) {
    environment[name] = api_key;
  }
}

void add_contract(const HarnessContract& contract, Environment& environment) {
  const std::string url = attempt_url(contract);
  add_address(url, contract.api_key, environment);
  environment["AGL_EVENT_URL"] = url + "/events";
  environment["CORISCO_TASK"] = contract.task_file;
  environment["CORISCO_REWARD_FILE"] = contract.reward_file;
  environment["CORISCO_ROLLOUT_ID"] = std::to_string(contract.attempt.rollout.value);
}
}  // namespace corisco::rollouts
