// Whole groups -> the trainer's batch, in the order of (task occurrence, sibling, branch).
#pragma once
#include <memory>
#include <vector>

#include "corisco/config/config.h"
#include "corisco/metrics/registry.h"
#include "corisco/samples/merge.h"
#include "corisco/types/sample.h"

namespace corisco::app {
MergeLevel merge_level(const config::Samples& options);
samples::MergeLimits merge_limits(const config::Samples& options);

// Counts what became of every sampled token, and warns if too many never reached their client.
TrainBatch make_train_batch(const std::vector<std::unique_ptr<Group>>& groups, const config::Samples& options,
                            metrics::Registry& metrics);
}  // namespace corisco::app
