// Calls of rollouts opened over HTTP are kept after the end, the last ones, within a bound.
#include "app/kept_calls.h"

#include <gtest/gtest.h>

namespace corisco::app {
namespace {
FinishedRollout finished(std::uint64_t rollout, std::size_t text_bytes = 0) {
  FinishedRollout ended;
  ended.spec.id = RolloutId{rollout};
  ended.calls.emplace_back();
  ended.calls[0].reply_text = std::string(text_bytes, 'x');
  return ended;
}

TEST(KeptCalls, KeepsWhatWasExpectedUntilItIsForgotten) {
  KeptCalls kept;
  kept.keep(finished(1));
  EXPECT_EQ(kept.find(RolloutId{1}), nullptr) << "of nobody who reads it";
  kept.expect(RolloutId{2});
  EXPECT_EQ(kept.find(RolloutId{2}), nullptr) << "it has not ended";
  kept.keep(finished(2));
  ASSERT_NE(kept.find(RolloutId{2}), nullptr);
  EXPECT_EQ(kept.find(RolloutId{2})->size(), 1U);
  kept.forget(RolloutId{2});
  EXPECT_EQ(kept.find(RolloutId{2}), nullptr);
  kept.expect(RolloutId{3});
  kept.forget(RolloutId{3});
  kept.keep(finished(3));
  EXPECT_EQ(kept.find(RolloutId{3}), nullptr) << "dropped before its end";
}

TEST(KeptCalls, TheOldestGoFirst) {
  KeptCalls kept(10000);
  for (const std::uint64_t rollout : {1, 2, 3}) kept.expect(RolloutId{rollout});
  kept.keep(finished(1, 4000));
  kept.keep(finished(2, 4000));
  EXPECT_NE(kept.find(RolloutId{1}), nullptr);
  kept.keep(finished(3, 4000));
  EXPECT_EQ(kept.find(RolloutId{1}), nullptr);
  EXPECT_NE(kept.find(RolloutId{2}), nullptr);
  EXPECT_NE(kept.find(RolloutId{3}), nullptr);
  kept.expect(RolloutId{4});
  kept.keep(finished(4, 20000));
  EXPECT_EQ(kept.find(RolloutId{4}), nullptr);
  EXPECT_NE(kept.find(RolloutId{3}), nullptr) << "one that is too large pushes nobody out";
}
}  // namespace
}  // namespace corisco::app
