// Sequences that share their beginnings.
#include "corisco/types/shared_prefix.h"

#include <gtest/gtest.h>

namespace corisco {
namespace {
using Ids = SharedPrefix<int>;
using Items = std::vector<int>;

TEST(SharedPrefix, IsTheSequenceThatItWasMadeFrom) {
  EXPECT_TRUE(Ids().empty());
  EXPECT_EQ(Ids().items(), Items());
  EXPECT_EQ((Ids{1, 2, 3}).items(), (Items{1, 2, 3}));
  EXPECT_EQ(SharedPrefix<char>("ab").items(), "ab");
}

TEST(SharedPrefix, GoesOnFromTheBeginningOfAnother) {
  const Ids base{1, 2, 3, 4};
  const auto longer = Ids::extend(base, 4, {5});
  const auto forked = Ids::extend(longer, 2, {9, 8});
  EXPECT_EQ(longer.items(), (Items{1, 2, 3, 4, 5}));
  EXPECT_EQ(forked.items(), (Items{1, 2, 9, 8}));
  EXPECT_EQ(forked.size(), 4U);
  EXPECT_EQ(forked.num_own(), 2U);
  EXPECT_EQ(Ids::extend(longer, 99, {6}).items(), (Items{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(Ids::extend(longer, 0, {7}).items(), Items{7});
  EXPECT_EQ(Ids::extend(base, 4, {}), base);
}

TEST(SharedPrefix, OutlivesWhatItWasMadeFrom) {
  Ids kept;
  {
    const Ids base{1, 2};
    kept = Ids::extend(Ids::extend(base, 2, {3}), 3, {4});
  }
  EXPECT_EQ(kept.items(), (Items{1, 2, 3, 4}));
}

TEST(SharedPrefix, TellsHowFarAnotherSequenceAgrees) {
  const auto ids = Ids::extend(Ids::extend(Ids{1, 2}, 2, {3, 4}), 3, {5, 6});   // 1 2 3 5 6
  const auto common = [&](const Items& other) { return ids.common_with(other); };
  EXPECT_EQ(common({}), 0U);
  EXPECT_EQ(common({9}), 0U);
  EXPECT_EQ(common({1, 9}), 1U);
  EXPECT_EQ(common({1, 2, 3, 4}), 3U);
  EXPECT_EQ(common({1, 2, 3, 5, 6, 7}), 5U);
  EXPECT_EQ(common({1, 9, 3, 5, 6}), 1U);
}

TEST(SharedPrefix, EndsALongChainWithoutALongStack) {
  Ids last;
  for (int i = 0; i < 300000; ++i) last = Ids::extend(last, last.size(), {i});
  EXPECT_EQ(last.size(), 300000U);
  EXPECT_EQ(last.items()[299999], 299999);
}
}  // namespace
}  // namespace corisco
