// Rows and their sum in one call, and the rollout that the pictures of merging show.
#pragma once
#include <utility>
#include <vector>

#include "corisco/samples/merge.h"
#include "samples/sample_calls.h"

namespace corisco::samples {
// The rows, their sum in report.
inline std::vector<Sample> rows_of(const FinishedRollout& rollout, MergeLevel level, MergeReport& report,
                                   const MergeLimits& limits = {}) {
  auto merged = merge(rollout, level, limits);
  report.add(merged.accounts);
  return std::move(merged.rows);
}

// P1 = 1 2, R1 = 3 4, E1 = 5, R2 = 6 7, then a compacted history P2 = 8, R3 = 9.
inline FinishedRollout worked_example() {
  return make_rollout(
      {make_call(0, {1, 2}, {3, 4}, 5), make_call(1, {1, 2, 3, 4, 5}, {6, 7}, 6), make_call(2, {8}, {9}, 6)});
}
}  // namespace corisco::samples
