// What a harness finds in its environment: PATH, HOME, LANG and what the config passes on by name,
// plus the contract; nothing else of the daemon's. Pure but for reading the daemon's environment.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "corisco/types/rollout.h"

namespace corisco::rollouts {
using Environment = std::map<std::string, std::string>;

// PATH, HOME, LANG and the named variables, those that the daemon has.
Environment passed_environment(const std::vector<std::string>& names);

struct HarnessContract {
  AttemptKey attempt;
  std::string gateway_url;             // "http://127.0.0.1:8080"
  std::string api_key;
  std::string task_file, reward_file;
};
// "http://127.0.0.1:8080/rollout/7/attempt/1": every agent accepts it as a base URL, with or without /v1.
std::string attempt_url(const HarnessContract& contract);
// Where the model is, under every name that clients read; url without /v1.
void add_address(const std::string& url, const std::string& api_key, Environment& environment);
// The variables that every harness gets.
void add_contract(const HarnessContract& contract, Environment& environment);
}  // namespace corisco::rollouts
