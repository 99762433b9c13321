// `corisco inspect`: what became of a run, from its journal alone: all rollouts, updates and accounts, or
// one rollout call by call. Reads; never writes, loads no weights, asks no daemon.
#pragma once
#include <string>

#include "corisco/base/id.h"

namespace corisco::app {
struct InspectOptions {
  std::string run;                       // as find_run takes it
  RolloutId rollout;                     // none: the tables
  bool as_json = false;
  bool all_tokens = false;               // else the first and last few of each call
};
// Exit status 1 if the accounts do not balance, 2 if there is nothing to read.
int inspect(const InspectOptions& options);
}  // namespace corisco::app
