#include "model/row_segments.h"

#include <set>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"

namespace corisco::model {
namespace {
// The row that row t follows, or -1.
std::int64_t row_before(const AttentionPlan& plan, std::size_t t) {
  const auto begin = static_cast<std::size_t>(plan.begin[t]), end = static_cast<std::size_t>(plan.begin[t + 1]);
  std::int64_t keys = 0;
  for (std::size_t s = end; s > begin && keys < 2; --s) {
    const KeySpan& span = plan.spans[s - 1];
    const std::int64_t needed = 2 - keys;
    if (span.length >= needed) return span.first + span.length - needed;
    keys += span.length;
  }
  return -1;
}

void add_segment(RowSegments& segments, RowSegment segment, std::vector<std::size_t>& tree_of) {
  const std::size_t index = segments.list.size();
  if (segment.parent < 0) {
    tree_of.push_back(segments.trees.size());
    segments.trees.emplace_back();
  } else {
    tree_of.push_back(tree_of[static_cast<std::size_t>(segment.parent)]);
  }
  segments.trees[tree_of.back()].push_back(index);
  segments.list.push_back(segment);
}
}  // namespace

RowSegments segments_of(const AttentionPlan& plan, std::int64_t rows_max) {
  const std::size_t rows = plan.begin.size() - 1;
  std::vector<std::int64_t> before(rows);
  std::vector<bool> branches(rows, false);  // a row other than the next one follows it
  for (std::size_t t = 0; t < rows; ++t) {
    before[t] = row_before(plan, t);
    CORISCO_ASSERT(before[t] < static_cast<std::int64_t>(t), cat("row ", t, " follows row ", before[t]));
    if (before[t] >= 0 && before[t] + 1 != static_cast<std::int64_t>(t)) {
      branches[static_cast<std::size_t>(before[t])] = true;
    }
  }
  RowSegments segments;
  std::vector<std::size_t> tree_of;
  std::vector<std::int64_t> segment_of(rows);
  for (std::size_t t = 0; t < rows; ++t) {
    const auto row = static_cast<std::int64_t>(t);
    const bool goes_on = t > 0 && before[t] == row - 1 && !branches[t - 1] &&
                         segments.list.back().length < rows_max;
    if (goes_on) {
      ++segments.list.back().length;
    } else {
      const std::int64_t parent = before[t] < 0 ? -1 : segment_of[static_cast<std::size_t>(before[t])];
      add_segment(segments, {.first = row, .length = 1, .parent = parent}, tree_of);
    }
    segment_of[t] = static_cast<std::int64_t>(segments.list.size()) - 1;
  }
  return segments;
}

RowSegments segments_of(const std::vector<std::int64_t>& slots, const std::vector<std::int64_t>& positions) {
  RowSegments segments;
  std::vector<std::size_t> tree_of;
  std::set<std::int64_t> seen;
  for (std::size_t t = 0; t < slots.size(); ++t) {
    if (t > 0 && slots[t] == slots[t - 1] && positions[t] == positions[t - 1] + 1) {
      ++segments.list.back().length;
      continue;
    }
    CORISCO_ASSERT(seen.insert(slots[t]).second, cat("state slot ", slots[t], " is two sequences'"));
    add_segment(segments,
                {.first = static_cast<std::int64_t>(t),
                 .length = 1,
                 .slot = slots[t],
                 .resumes = positions[t] > 0,
                 .is_last = true},
                tree_of);
  }
  return segments;
}
}  // namespace corisco::model
