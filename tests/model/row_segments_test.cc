// Which rows of a pass follow one another, by hand.
#include "model/row_segments.h"

#include <gtest/gtest.h>

#include <string>

#include "corisco/base/strings.h"

namespace corisco::model {
namespace {
// "0+2 2+2^0": the second segment has two rows and follows the first.
std::string text(const RowSegments& segments) {
  std::string out;
  for (const auto& segment : segments.list) {
    out += cat(out.empty() ? "" : " ", segment.first, "+", segment.length);
    if (segment.parent >= 0) out += cat("^", segment.parent);
    if (segment.slot >= 0) out += cat("@", segment.slot, segment.resumes ? "<" : "", segment.is_last ? ">" : "");
  }
  return out;
}

AttentionPlan plan_of(const std::vector<std::vector<KeySpan>>& rows) {
  AttentionPlan plan;
  for (const auto& spans : rows) {
    plan.spans.insert(plan.spans.end(), spans.begin(), spans.end());
    plan.end_row();
  }
  return plan;
}

// Rows 0 to 3 are one sequence, 4 and 5 another one that shares the first two; 6 stands alone.
const AttentionPlan kTree =
    plan_of({{{0, 1}}, {{0, 2}}, {{0, 3}}, {{0, 4}}, {{0, 2}, {4, 1}}, {{0, 2}, {4, 2}}, {{6, 1}}});

TEST(RowSegments, BranchesEndSegments) {
  const auto segments = segments_of(kTree, 32);
  EXPECT_EQ(text(segments), "0+2 2+2^0 4+2^0 6+1");
  EXPECT_EQ(segments.trees, (std::vector<std::vector<std::size_t>>{{0, 1, 2}, {3}}));
}

TEST(RowSegments, HaveABoundedLength) {
  const AttentionPlan plan = plan_of({{{0, 1}}, {{0, 2}}, {{0, 3}}, {{0, 4}}, {{0, 5}}});
  EXPECT_EQ(text(segments_of(plan, 2)), "0+2 2+2^0 4+1^1");
}

TEST(RowSegments, OfACacheGoBySlotAndPosition) {
  const auto segments = segments_of({5, 5, 5, 2, 7, 7}, {0, 1, 2, 9, 4, 5});
  EXPECT_EQ(text(segments), "0+3@5> 3+1@2<> 4+2@7<>");
  EXPECT_EQ(segments.trees.size(), 3U);
}

TEST(RowSegmentsDeath, TwoSequencesInOneSlot) {
  EXPECT_DEATH((void)segments_of({5, 2, 5}, {3, 0, 9}), "state slot 5");
}
}  // namespace
}  // namespace corisco::model
