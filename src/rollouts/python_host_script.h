// The program of the warmed Python interpreter, run as `python -u -c SCRIPT preload...`.
#pragma once

namespace corisco::rollouts {
extern const char* const kPythonHostScript;
}  // namespace corisco::rollouts
