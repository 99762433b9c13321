// When /readyz says that the engine is stuck.
#include "app/engine_watch.h"

#include <gtest/gtest.h>

#include <chrono>

namespace corisco::app {
namespace {
const TimePoint kStart = TimePoint() + std::chrono::hours(1);
TimePoint after(int seconds) { return kStart + std::chrono::seconds(seconds); }

TEST(EngineWatch, WorkWithoutAStepForAMinuteIsStuckUntilTheNextStep) {
  EngineWatch watch;
  watch.look(7, true, after(0));         // a step: it was at none
  watch.look(7, true, after(59));
  EXPECT_FALSE(watch.is_stuck(after(59)));
  watch.look(7, true, after(61));
  EXPECT_TRUE(watch.is_stuck(after(61)));
  watch.look(8, true, after(62));
  EXPECT_FALSE(watch.is_stuck(after(62)));
}

TEST(EngineWatch, WithoutWorkOrDuringAnUpdateNothingIsMissed) {
  EngineWatch watch;
  watch.look(7, true, after(0));
  for (int seconds = 1; seconds < 500; ++seconds) watch.look(7, false, after(seconds));
  EXPECT_FALSE(watch.is_stuck(after(500)));
  watch.look(7, true, after(500));       // work from then on; the last look without any was at 499
  EXPECT_FALSE(watch.is_stuck(after(558)));
  EXPECT_TRUE(watch.is_stuck(after(560)));
}
}  // namespace
}  // namespace corisco::app
