// Values by hand.
#include "trainer/schedule.h"

#include <gtest/gtest.h>

namespace corisco::trainer {
namespace {
TEST(Schedule, WarmsUpLinearly) {
  const Schedule schedule{"constant", 4e-5, 4, 10};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0), 1e-5);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 2), 3e-5);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 3), 4e-5);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 1000), 4e-5);
}

TEST(Schedule, LinearFallsToATenthAtTheLastUpdate) {
  const Schedule schedule{"linear", 1, 2, 13};  // 10 steps from update 2 to update 12
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 1), 1);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 2), 1);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 7), 0.55);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 12), 0.1);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 99), 0.1);
}

TEST(Schedule, CosineFallsToATenthAtTheLastUpdate) {
  const Schedule schedule{"cosine", 1, 0, 5};
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 0), 1);
  EXPECT_NEAR(learning_rate(schedule, 1), 0.1 + 0.9 * (1 + 0.70710678) / 2, 1e-8);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 2), 0.55);
  EXPECT_DOUBLE_EQ(learning_rate(schedule, 4), 0.1);
}

TEST(Schedule, ShortRunsStayAtThePeak) {
  EXPECT_DOUBLE_EQ(learning_rate({"cosine", 1, 0, 0}, 7), 1);
  EXPECT_DOUBLE_EQ(learning_rate({"linear", 1, 3, 3}, 5), 1);
}
}  // namespace
}  // namespace corisco::trainer
