// Layouts by hand; budgets and coverage as properties.
#include "trainer/packing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "trainer/batch_builder.h"
#include "trainer/prefix_tree.h"

namespace corisco::trainer {
namespace {
// The keys that row t of the pass attends to, in order.
std::vector<std::int32_t> keys(const model::AttentionPlan& plan, std::size_t t) {
  std::vector<std::int32_t> result;
  for (auto s = plan.begin[t]; s < plan.begin[t + 1]; ++s) {
    const auto span = plan.spans[static_cast<std::size_t>(s)];
    for (std::int32_t i = 0; i < span.length; ++i) result.push_back(span.first + i);
  }
  return result;
}

Layout lay(const std::vector<std::vector<TokenId>>& rows, bool shares) {
  return lay_out({rows.begin(), rows.end()}, shares);
}

TEST(PrefixTree, SharedBeginningsAreComputedOnce) {
  const Layout layout = lay({{1, 2, 3, 4}, {1, 2, 5}, {1, 2, 3}}, true);
  EXPECT_EQ(layout.input.token_ids, (std::vector<std::int64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(layout.input.positions, (std::vector<std::int64_t>{0, 1, 2, 3, 2}));
  EXPECT_EQ(layout.places[0], (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(layout.places[1], (std::vector<std::int32_t>{0, 1, 4}));
  EXPECT_EQ(layout.places[2], (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(keys(layout.input.attention, 4), (std::vector<std::int32_t>{0, 1, 4}));
  EXPECT_EQ(keys(layout.input.attention, 3), (std::vector<std::int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(layout.input.attention.begin.back(),
            static_cast<std::int32_t>(layout.input.attention.spans.size()));
}

TEST(PrefixTree, RowsWithoutACommonBeginningStandSideBySide) {
  const Layout layout = lay({{1, 2}, {3, 4}}, true);
  EXPECT_EQ(layout.input.token_ids, (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(keys(layout.input.attention, 3), (std::vector<std::int32_t>{2, 3}));
}

TEST(PrefixTree, EachTokenAttendsToItsRowWhateverIsShared) {
  const std::vector<std::vector<TokenId>> rows = {
      {7, 1, 1, 2, 9},    {7, 1, 1, 3}, {7, 1, 1, 2, 8, 8}, {7, 2},
      {7, 1, 1, 2, 9, 4}, {5, 1, 1},    {7, 1, 1, 3},       {7}};
  for (const bool shares : {true, false}) {
    const Layout layout = lay(rows, shares);
    EXPECT_EQ(layout.input.token_ids.size(), shares ? 13U : 31U);
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t t = 0; t < rows[i].size(); ++t) {
        const auto place = static_cast<std::size_t>(layout.places[i][t]);
        EXPECT_EQ(layout.input.token_ids[place], rows[i][t]);
        EXPECT_EQ(layout.input.positions[place], static_cast<std::int64_t>(t));
        const std::vector<std::int32_t> path(layout.places[i].begin(),
                                             layout.places[i].begin() + static_cast<std::ptrdiff_t>(t) + 1);
        EXPECT_EQ(keys(layout.input.attention, place), path) << "row " << i << " token " << t;
      }
  }
}

// Two groups of eight siblings, prompt of 10 shared tokens, replies of 6 that differ.
Assembly two_groups() {
  TrainBatch batch;
  for (TokenId g = 0; g < 2; ++g) {
    std::vector<TrainRollout> rollouts;
    for (TokenId s = 0; s < 8; ++s) {
      std::vector<TokenId> ids(10, 50 + g);
      for (TokenId t = 0; t < 6; ++t) ids.push_back(100 * (s + 1) + t);
      rollouts.push_back(
          make_rollout(static_cast<std::uint32_t>(s), s % 3, {make_row(ids, "..........xxxxxx")}));
    }
    batch.groups.push_back(make_group(static_cast<std::uint64_t>(g), std::move(rollouts)));
  }
  return assemble(std::move(batch), {0}, AdvantageKind::grpo, true);
}

TEST(Packing, StaysUnderTheBudgetAndCoversEveryTokenOnce) {
  const Assembly assembly = two_groups();
  for (const bool shares : {true, false})
    for (const std::size_t budget : {15U, 16U, 40U, 1000U}) {
      const auto batches = pack(assembly, {budget, shares});
      std::vector<int> seen(assembly.tokens.size(), 0);
      for (const auto& batch : batches) {
        EXPECT_LE(batch.input.token_ids.size(), budget);
        EXPECT_EQ(batch.input.attention.begin.size(), batch.input.token_ids.size() + 1);
        for (std::size_t i = 0; i < batch.tokens.size(); ++i) {
          ++seen[batch.tokens[i]];
          EXPECT_EQ(batch.target_ids[i], assembly.tokens[batch.tokens[i]].id);
          EXPECT_LT(batch.hidden_rows[i], static_cast<std::int64_t>(batch.input.token_ids.size()));
        }
      }
      EXPECT_TRUE(std::ranges::all_of(seen, [](int times) { return times == 1; }));
    }
}

TEST(Packing, SharingSavesThePrompts) {
  const Assembly assembly = two_groups();
  // 10 shared, 8 tails of 5 (the last token is not forwarded): 50 a group.
  const auto shared = pack(assembly, {50, true});
  ASSERT_EQ(shared.size(), 2U);
  EXPECT_EQ(shared[0].input.token_ids.size(), 50U);
  EXPECT_EQ(pack(assembly, {45, false}).size(), 6U);  // three rows of 15 each
}

TEST(Packing, TheFirstReplyTokensOfSiblingsReadOneHiddenRow) {
  const auto batches = pack(two_groups(), {50, true});
  EXPECT_EQ(std::ranges::count(batches[0].hidden_rows, 9), 8);
}

TEST(Packing, ALongRowGoesAlone) {
  TrainBatch batch;
  batch.groups = {make_group(0, {make_rollout(0, 1, {make_row({1, 2, 3, 4, 5, 6}, "..x..x")}),
                                 make_rollout(1, 0, {make_row({1, 2, 7}, "..x")})})};
  const auto batches = pack(assemble(std::move(batch), {0}, AdvantageKind::grpo, false), {4, true});
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[0].input.token_ids.size(), 5U);
  EXPECT_EQ(batches[1].input.token_ids.size(), 2U);
}

TEST(Packing, TemperaturesAreNotMixed) {
  TrainBatch batch;
  auto hot = make_row({1, 2}, ".x");
  hot.temperature = 0.5F;
  auto greedy = make_row({1, 3}, ".x");
  greedy.temperature = 0;
  batch.groups = {make_group(0, {make_rollout(0, 1, {hot}), make_rollout(1, 0, {greedy})})};
  const auto batches = pack(assemble(std::move(batch), {0}, AdvantageKind::grpo, false), {100, true});
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_EQ(batches[0].temperature, 0.5F);
  EXPECT_EQ(batches[1].temperature, 1.0F);
}

TEST(Packing, ATokenTrainedInOneRowIsContextInAnother) {
  TrainBatch batch;
  batch.groups = {
      make_group(0, {make_rollout(0, 1, {make_row({1, 2, 3}, ".xx"), make_row({1, 2, 3, 4, 5}, "....x")}),
                     make_rollout(1, 0, {make_row({1, 9}, ".x")})})};
  const auto batches = pack(assemble(std::move(batch), {0}, AdvantageKind::grpo, false), {100, true});
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches[0].input.token_ids, (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_EQ(batches[0].hidden_rows, (std::vector<std::int64_t>{0, 1, 3, 0}));
  EXPECT_EQ(batches[0].target_ids, (std::vector<std::int64_t>{2, 3, 5, 9}));
}
}  // namespace
}  // namespace corisco::trainer
