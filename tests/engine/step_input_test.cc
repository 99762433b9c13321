// The worked example of the header: block tables as spans of cache rows.
#include "engine/step_input.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace corisco::engine {
namespace {
using Spans = std::vector<std::pair<std::int32_t, std::int32_t>>;

Spans spans_of(const model::AttentionPlan& plan, std::size_t row) {
  Spans spans;
  for (std::int32_t i = plan.begin.at(row); i < plan.begin.at(row + 1); ++i)
    spans.emplace_back(plan.spans.at(i).first, plan.spans.at(i).length);
  return spans;
}

Sequence sequence(std::size_t num_tokens, std::vector<BlockIndex> blocks) {
  Sequence made;
  for (std::size_t i = 0; i < num_tokens; ++i) made.token_ids.push_back(static_cast<TokenId>(100 + i));
  made.blocks = std::move(blocks);
  return made;
}

TEST(StepInput, MergesNeighbouringBlocksAndEndsAtTheOwnKey) {
  const Sequence decoding = sequence(10, {7, 8, 3});
  ScheduledStep step;
  step.rows.push_back({&decoding, 9, 1, true});
  const auto input = make_step_input(step, 4);
  EXPECT_EQ(spans_of(input.forward.attention, 0), (Spans{{28, 8}, {12, 2}}));
  EXPECT_EQ(input.forward.slots, (std::vector<std::int64_t>{13}));
  EXPECT_EQ(input.forward.positions, (std::vector<std::int64_t>{9}));
  EXPECT_EQ(input.forward.token_ids, (std::vector<std::int64_t>{109}));
  EXPECT_EQ(input.logit_rows, (std::vector<std::int64_t>{0}));
}

TEST(StepInput, AChunkSeesItsPastAndOnlyACompleteOneAsksForLogits) {
  const Sequence first = sequence(6, {5, 2, 0});
  const Sequence second = sequence(3, {1, 3});
  ScheduledStep step;
  step.rows.push_back({&first, 1, 3, false});
  step.rows.push_back({&second, 0, 3, true});
  const auto input = make_step_input(step, 2);
  ASSERT_EQ(input.forward.attention.begin.size(), 7U);
  EXPECT_EQ(spans_of(input.forward.attention, 0), (Spans{{10, 2}}));
  EXPECT_EQ(spans_of(input.forward.attention, 1), (Spans{{10, 2}, {4, 1}}));
  EXPECT_EQ(spans_of(input.forward.attention, 2), (Spans{{10, 2}, {4, 2}}));
  EXPECT_EQ(spans_of(input.forward.attention, 3), (Spans{{2, 1}}));
  EXPECT_EQ(spans_of(input.forward.attention, 5), (Spans{{2, 2}, {6, 1}}));
  EXPECT_EQ(input.forward.slots, (std::vector<std::int64_t>{11, 4, 5, 2, 3, 6}));
  EXPECT_EQ(input.forward.positions, (std::vector<std::int64_t>{1, 2, 3, 0, 1, 2}));
  EXPECT_EQ(input.logit_rows, (std::vector<std::int64_t>{5}));
}

TEST(StepInput, RowsThatAScoredPromptGoesOnAfter) {
  const Sequence first = sequence(6, {5, 2, 0});
  const Sequence second = sequence(3, {1, 3});
  ScheduledStep step;
  step.rows.push_back({.sequence = &second, .first = 0, .num_tokens = 3, .draws = true, .num_scored = 2});
  step.rows.push_back({.sequence = &first, .first = 1, .num_tokens = 2, .num_scored = 2});
  const auto input = make_step_input(step, 2);
  std::vector<std::pair<std::int64_t, TokenId>> scored;
  for (const auto& row : input.scored_rows) scored.emplace_back(row.row, row.next);
  EXPECT_EQ(scored, (std::vector<std::pair<std::int64_t, TokenId>>{{0, 101}, {1, 102}, {3, 102}, {4, 103}}));
  EXPECT_EQ(input.logit_rows, (std::vector<std::int64_t>{2}));
}
}  // namespace
}  // namespace corisco::engine
