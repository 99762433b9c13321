// Sequences that share their beginnings.
#include "corisco/types/shared_prefix.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "corisco/base/random.h"

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
  EXPECT_EQ(Items(forked.own().begin(), forked.own().end()), (Items{9, 8}));
  EXPECT_TRUE(Ids().own().empty());
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

// Chains that fork anywhere, each beside the plain vector that it is to be: every tail of every one, and
// what is said to be shared is equal and stored once.
TEST(SharedPrefix, TailsAndWhatIsSharedAreThoseOfPlainSequences) {
  std::vector<Ids> chains{Ids{}, Ids{1, 2, 3}};
  std::vector<Items> plain{{}, {1, 2, 3}};
  std::uint64_t drawn = 0;
  const auto below = [&](std::size_t bound) {
    return static_cast<std::size_t>(uniform(7, drawn++) * static_cast<double>(bound));
  };
  for (int i = 0; i < 300; ++i) {
    const auto from = below(chains.size());
    const auto kept = below(plain[from].size() + 1);
    Items more(below(4));
    for (auto& item : more) item = static_cast<int>(below(2));
    auto whole = Items(plain[from].begin(), plain[from].begin() + static_cast<std::ptrdiff_t>(kept));
    whole.insert(whole.end(), more.begin(), more.end());
    chains.push_back(Ids::extend(chains[from], kept, more));
    plain.push_back(whole);
    EXPECT_TRUE(chains.back().shares_first(kept, chains[from])) << "the first " << kept << " of " << from;
    for (std::size_t first = 0; first <= whole.size() + 1; ++first) {
      const auto begin = std::min(first, whole.size());
      ASSERT_EQ(chains.back().tail(first), Items(whole.begin() + static_cast<std::ptrdiff_t>(begin), whole.end()));
    }
  }
  std::size_t num_shared = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto a = below(chains.size()), b = below(chains.size());
    const auto n = below(plain[a].size() + 2);
    if (!chains[a].shares_first(n, chains[b])) continue;
    ++num_shared;
    ASSERT_LE(n, std::min(plain[a].size(), plain[b].size()));
    ASSERT_TRUE(std::equal(plain[a].begin(), plain[a].begin() + static_cast<std::ptrdiff_t>(n), plain[b].begin()));
  }
  EXPECT_GT(num_shared, 500U);
}

TEST(SharedPrefix, EqualItemsThatAreStoredTwiceAreNotShared) {
  const Ids one{1, 2, 3}, two{1, 2, 3};
  EXPECT_TRUE(one.shares_first(0, two));
  EXPECT_FALSE(one.shares_first(2, two));
  EXPECT_TRUE(one.shares_first(3, one));
  EXPECT_FALSE(one.shares_first(4, one));
  const auto left = Ids::extend(one, 2, {7}), right = Ids::extend(one, 2, {7});
  EXPECT_TRUE(left.shares_first(2, right));
  EXPECT_FALSE(left.shares_first(3, right));
}

TEST(SharedPrefix, EndsALongChainWithoutALongStack) {
  Ids last;
  for (int i = 0; i < 300000; ++i) last = Ids::extend(last, last.size(), {i});
  EXPECT_EQ(last.size(), 300000U);
  EXPECT_EQ(last.items()[299999], 299999);
}
}  // namespace
}  // namespace corisco
