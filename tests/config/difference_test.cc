#include "corisco/config/difference.h"

#include <gtest/gtest.h>

namespace corisco::config {
namespace {
TEST(Difference, NamesEachKeyWithBothValues) {
  Config was, is;
  EXPECT_TRUE(differences(was, is).empty());
  is.run.seed = 2;
  is.trainer.learning_rate = 0.25;
  is.rollouts.harness.command = {"agent", "--fast"};
  const auto found = differences(was, is);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].path, "run.seed");
  EXPECT_EQ(found[0].was, "1");
  EXPECT_EQ(found[0].is, "2");
  EXPECT_EQ(found[1].path, "rollouts.harness.command");
  EXPECT_EQ(found[1].was, "[]");
  EXPECT_EQ(found[1].is, R"(["agent", "--fast"])");
  EXPECT_EQ(found[2].path, "trainer.learning_rate");
}

TEST(Difference, ShowsNoSecret) {
  Config was, is;
  was.gateway.admin_key = "one";
  is.gateway.admin_key = "two";
  was.rollouts.harness.env = {{"SAME", "x"}, {"GONE", "y"}, {"TOKEN", "before"}};
  is.rollouts.harness.env = {{"SAME", "x"}, {"TOKEN", "after"}};
  const auto found = differences(was, is);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].path, "rollouts.harness.env");
  EXPECT_EQ(found[0].was, "{GONE: ***, TOKEN: ***}");
  EXPECT_EQ(found[0].is, "{TOKEN: ***}");
}
}  // namespace
}  // namespace corisco::config
