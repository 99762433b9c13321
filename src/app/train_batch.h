// Whole groups -> the trainer's batch, in the order of (task occurrence, sibling, branch).
#pragma once
#include <memory>
#include <vector>

#include "corisco/metrics/registry.h"
#include "corisco/types/sample.h"

namespace corisco::app {
TrainBatch make_train_batch(const std::vector<std::unique_ptr<Group>>& groups, MergeLevel level,
                            metrics::Registry& metrics);
}  // namespace corisco::app
