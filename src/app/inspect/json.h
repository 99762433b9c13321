// What `corisco inspect --json` prints for scripts.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "app/inspect/rollout_view.h"

namespace corisco::app {
nlohmann::ordered_json to_json(const RunHistory& history);
nlohmann::ordered_json to_json(const RolloutView& view);
}  // namespace corisco::app
