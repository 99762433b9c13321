// The rows of a pass as layers with a state see them: which row follows which. Pure; no torch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "corisco/model/attention_plan.h"

namespace corisco::model {
// Rows first .. first + length - 1, each following the one before it. The state before the first is
// the one after the last row of segment `parent`; without a parent, what state slot `slot` of a cache
// holds if `resumes`, and zero otherwise. In a cached pass the state after the last row is the slot's (`is_last`).
struct RowSegment {
  std::int64_t first = 0, length = 0;
  std::int64_t parent = -1;
  std::int64_t slot = -1;
  bool resumes = false, is_last = false;
};

struct RowSegments {
  std::vector<RowSegment> list;                    // parents before their children
  std::vector<std::vector<std::size_t>> trees;     // segments that depend on one another, in their order
};

// Rows that share a beginning are a tree, which the plan tells: the key before a row's own one is the row
// that it follows. Segments have at most rows_max rows.
//   rows 0 1 2 3 | 4 5, row 4 after row 1  ->  {0, 2} {2, 2, parent 0} {4, 2, parent 0}
RowSegments segments_of(const AttentionPlan& plan, std::int64_t rows_max);
// In a cached pass neighbours of one slot and rising positions follow one another; position 0 begins anew.
RowSegments segments_of(const std::vector<std::int64_t>& slots, const std::vector<std::int64_t>& positions);
}  // namespace corisco::model
