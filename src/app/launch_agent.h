// `corisco launch`: an agent started by hand as its preset starts it, against any server: to try an
// agent, a server, or a daemon whose harnesses run elsewhere.
#pragma once
#include "corisco/rollouts/agent_start.h"

namespace corisco::app {
// Becomes the agent: returns only if it could not, with the exit code.
int launch_agent(const rollouts::AgentStart& start);
}  // namespace corisco::app
