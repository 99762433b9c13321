// The supervisor of one rollout: a process between the spawner and the harness that is the
// subreaper of the harness's whole tree, keeps its output within bounds, and ends the tree with the
// harness, when asked to, and when the spawner dies.
#pragma once
#include "corisco/rollouts/sandbox.h"
#include "rollouts/file_descriptor.h"

namespace corisco::rollouts {
// Runs in a process forked for it, with one thread; reports one wire::Type::end over control after
// the tree is empty. Returns the process's exit code.
int supervise(FileDescriptor control, const Launch& launch);
}  // namespace corisco::rollouts
