// What `corisco inspect` prints for people.
#pragma once
#include <string>

#include "app/inspect/rollout_view.h"

namespace corisco::app {
std::string to_text(const RunHistory& history, const std::string& folder);
std::string to_text(const RolloutView& view);
}  // namespace corisco::app
