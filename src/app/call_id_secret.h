// What the ids of a run's tool calls are made of: kept with the run, so that a resumed one issues the ids that
// it would have issued. Readable by its owner alone, never logged, in no checkpoint.
#pragma once
#include <string>

#include "corisco/base/result.h"

namespace corisco::app {
// call_ids.secret of the run's folder, made if there is none. invalid_argument: it is damaged.
Result<std::string> call_id_secret(const std::string& run_folder);
}  // namespace corisco::app
