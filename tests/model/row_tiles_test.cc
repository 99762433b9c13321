// Which rows share a tile: by hand, and against lists of all keys.
#include "model/row_tiles.h"

#include <gtest/gtest.h>

#include <utility>

#include "model/window.h"
#include "random_plan.h"

namespace corisco::model {
namespace {
TEST(RowTiles, FollowByKeysAlone) {
  AttentionPlan plan;
  const std::vector<std::vector<KeySpan>> rows{
      {{0, 3}},          // the first follows nothing
      {{0, 4}},          // one more
      {{0, 2}, {2, 3}},  // cut otherwise
      {{1, 5}},          // one more, the oldest gone
      {{3, 4}},          // two gone
      {{3, 4}},          // no new one
      {{3, 3}, {9, 1}, {7, 1}},
      {{3, 3}, {8, 1}, {7, 1}, {10, 1}},  // another key in the middle
      {{5, 1}}};
  for (const auto& spans : rows) {
    plan.spans.insert(plan.spans.end(), spans.begin(), spans.end());
    plan.end_row();
  }
  const auto follows = rows_that_follow(plan);
  EXPECT_EQ(follows, (std::vector<bool>{false, true, true, true, false, false, false, false, false}));
  std::vector<std::pair<std::int64_t, std::int64_t>> tiles;
  for (const RowTile& tile : cut_tiles(follows, 3)) tiles.emplace_back(tile.first, tile.count);
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected{{0, 3}, {3, 1}, {4, 1}, {5, 1},
                                                                    {6, 1}, {7, 1}, {8, 1}};
  EXPECT_EQ(tiles, expected);
}

TEST(RowTiles, FollowWhereAListOfTheKeysSaysSo) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    for (const std::int64_t window : {1, 2, 9, 1000}) {
      const AttentionPlan plan = last_keys(testing::random_plan(seed), window);
      const auto follows = rows_that_follow(plan);
      ASSERT_EQ(follows.size() + 1, plan.begin.size());
      for (std::size_t row = 1; row < follows.size(); ++row) {
        auto expected = testing::keys_of(plan, row - 1), keys = testing::keys_of(plan, row);
        const bool drops = keys.size() == expected.size();
        if (drops) expected.erase(expected.begin());
        expected.push_back(keys.back());
        EXPECT_EQ(follows[row], keys == expected) << seed << ' ' << window << ' ' << row;
      }
    }
  }
}
}  // namespace
}  // namespace corisco::model
