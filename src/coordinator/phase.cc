#include "corisco/coordinator/phase.h"

namespace corisco::coordinator {
const char* to_string(Phase phase) {
  switch (phase) {
    case Phase::starting: return "starting";
    case Phase::generating: return "generating";
    case Phase::draining: return "draining";
    case Phase::training: return "training";
    case Phase::publishing: return "publishing";
    case Phase::stopping: return "stopping";
    case Phase::failed: return "failed";
  }
  return "failed";
}

bool can_move(Phase from, Phase to) {
  if (from == Phase::failed || from == Phase::stopping) return false;
  if (to == Phase::failed || to == Phase::stopping) return true;
  switch (from) {
    case Phase::starting: return to == Phase::generating;
    case Phase::generating: return to == Phase::draining;
    case Phase::draining: return to == Phase::training;
    case Phase::training: return to == Phase::publishing;
    case Phase::publishing: return to == Phase::generating;
    case Phase::stopping:
    case Phase::failed: return false;
  }
  return false;
}
}  // namespace corisco::coordinator
