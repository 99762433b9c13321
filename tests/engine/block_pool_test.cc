// Blocks: references, sharing of full blocks by their tokens, and which cached block goes first.
#include "engine/block_pool.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "corisco/base/random.h"

namespace corisco::engine {
namespace {
using Ids = std::vector<TokenId>;

PrefixId record_all(BlockPool& pool, const std::vector<BlockIndex>& blocks, const Ids& ids) {
  PrefixId prefix = 0;
  const std::size_t size = pool.block_tokens();
  for (std::size_t i = 0; i < blocks.size(); ++i)
    prefix = pool.record(blocks[i], prefix, std::span(ids).subspan(i * size, size));
  return prefix;
}

TEST(BlockPool, GivesTheLowestFreeNumberAndNothingWhenAllAreUsed) {
  BlockPool pool(3, 4);
  EXPECT_EQ(pool.allocate(), 0);
  EXPECT_EQ(pool.allocate(), 1);
  EXPECT_EQ(pool.allocate(), 2);
  EXPECT_EQ(pool.allocate(), std::nullopt);
  pool.release(2);
  pool.release(0);
  EXPECT_EQ(pool.num_available(), 2U);
  EXPECT_EQ(pool.allocate(), 0);
}

TEST(BlockPool, RoundsTokensUpToBlocks) {
  const BlockPool pool(3, 4);
  EXPECT_EQ(pool.blocks_for(0), 0U);
  EXPECT_EQ(pool.blocks_for(1), 1U);
  EXPECT_EQ(pool.blocks_for(4), 1U);
  EXPECT_EQ(pool.blocks_for(5), 2U);
}

TEST(BlockPool, SharesTheLongestRecordedPrefixInWholeBlocks) {
  BlockPool pool(8, 2);
  const std::vector<BlockIndex> blocks{*pool.allocate(), *pool.allocate(), *pool.allocate()};
  record_all(pool, blocks, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(pool.acquire_prefix(Ids{1, 2, 3, 4, 5}).blocks, (std::vector<BlockIndex>{0, 1}));
  EXPECT_EQ(pool.acquire_prefix(Ids{1, 2, 3, 9, 5, 6}).blocks, (std::vector<BlockIndex>{0}));
  EXPECT_TRUE(pool.acquire_prefix(Ids{3, 4, 5, 6}).blocks.empty());  // same block, other prefix
  EXPECT_EQ(pool.num_used(), 3U);
}

TEST(BlockPool, KeepsABlockUntilItsLastUserReleasesIt) {
  BlockPool pool(1, 2);
  const BlockIndex block = *pool.allocate();
  record_all(pool, {block}, {7, 8});
  EXPECT_EQ(pool.acquire_prefix(Ids{7, 8}).blocks.size(), 1U);
  pool.release(block);
  EXPECT_EQ(pool.num_available(), 0U);
  EXPECT_EQ(pool.allocate(), std::nullopt);
  pool.release(block);
  EXPECT_EQ(pool.num_available(), 1U);
}

TEST(BlockPool, TakesTheCachedBlockReleasedLongestAgoAndForgetsIt) {
  BlockPool pool(2, 1);
  const BlockIndex a = *pool.allocate(), b = *pool.allocate();
  pool.record(a, 0, Ids{10});
  pool.record(b, 0, Ids{20});
  pool.release(b);
  pool.release(a);
  EXPECT_EQ(pool.allocate(), b);
  EXPECT_TRUE(pool.acquire_prefix(Ids{20}).blocks.empty());
  EXPECT_EQ(pool.acquire_prefix(Ids{10}).blocks, (std::vector<BlockIndex>{a}));
}

TEST(BlockPool, TwoBlocksWithTheSameTokensMakeOnePrefix) {
  BlockPool pool(3, 1);
  const BlockIndex a = *pool.allocate(), b = *pool.allocate(), c = *pool.allocate();
  const PrefixId prefix = pool.record(a, 0, Ids{5});
  EXPECT_EQ(pool.record(b, 0, Ids{5}), prefix);
  pool.record(c, prefix, Ids{6});
  EXPECT_EQ(pool.acquire_prefix(Ids{5, 6}).blocks, (std::vector<BlockIndex>{a, c}));
  pool.release(b);  // not the recorded one: free at once
  EXPECT_EQ(pool.allocate(), b);
}

TEST(BlockPool, ANewVersionForgetsEveryPrefix) {
  BlockPool pool(2, 1);
  const BlockIndex used = *pool.allocate(), cached = *pool.allocate();
  pool.record(used, 0, Ids{1});
  pool.record(cached, 0, Ids{2});
  pool.release(cached);
  pool.start_version(PolicyVersion{1});
  EXPECT_TRUE(pool.acquire_prefix(Ids{1}).blocks.empty());
  EXPECT_TRUE(pool.acquire_prefix(Ids{2}).blocks.empty());
  EXPECT_EQ(pool.num_available(), 1U);
  pool.record(used, 0, Ids{1});  // may be recorded again, for the new version
  EXPECT_EQ(pool.acquire_prefix(Ids{1}).blocks.size(), 1U);
}

// Many short sequences over three token values, so that prefixes meet often: what is shared must
// hold exactly the tokens asked for, and no block may be lost.
void share_at_random(std::uint64_t key_mask) {
  constexpr std::uint32_t kBlockTokens = 2;
  BlockPool pool(24, kBlockTokens, key_mask);
  std::size_t num_shared = 0;
  std::map<BlockIndex, Ids> content;  // what a device would have in each block
  std::vector<std::vector<BlockIndex>> live;
  std::uint64_t counter = 0;
  const auto pick = [&](std::uint64_t n) {
    return static_cast<std::uint64_t>(uniform(77, ++counter) * static_cast<double>(n));
  };
  for (int round = 0; round < 20000; ++round) {
    if (!live.empty() && (pick(3) == 0 || live.size() > 5)) {
      const std::size_t victim = pick(live.size());
      for (const BlockIndex block : live[victim]) pool.release(block);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(victim));
      continue;
    }
    Ids ids(kBlockTokens * (1 + pick(5)));
    for (auto& id : ids) id = static_cast<TokenId>(pick(3));
    auto prefix = pool.acquire_prefix(ids);
    num_shared += prefix.blocks.size();
    for (std::size_t i = 0; i < prefix.blocks.size(); ++i) {
      const Ids expected(ids.begin() + static_cast<std::ptrdiff_t>(i * kBlockTokens),
                         ids.begin() + static_cast<std::ptrdiff_t>((i + 1) * kBlockTokens));
      ASSERT_EQ(content.at(prefix.blocks[i]), expected);
    }
    while (prefix.blocks.size() * kBlockTokens < ids.size()) {
      const auto block = pool.allocate();
      if (!block) break;
      const auto part = std::span(ids).subspan(prefix.blocks.size() * kBlockTokens, kBlockTokens);
      content[*block].assign(part.begin(), part.end());
      prefix.id = pool.record(*block, prefix.id, part);
      prefix.blocks.push_back(*block);
    }
    live.push_back(prefix.blocks);
    std::map<BlockIndex, int> users;
    for (const auto& blocks : live)
      for (const BlockIndex block : blocks) ++users[block];
    ASSERT_EQ(pool.num_used(), users.size());
  }
  for (const auto& blocks : live)
    for (const BlockIndex block : blocks) pool.release(block);
  EXPECT_EQ(pool.num_available(), pool.num_blocks());
  EXPECT_GT(num_shared, 1000U);
}

TEST(BlockPool, RandomSequencesNeverShareWrongTokensNorLeakBlocks) { share_at_random(~0ULL); }

TEST(BlockPool, NorDoTheyWhenKeysCollide) { share_at_random(3); }
}  // namespace
}  // namespace corisco::engine
