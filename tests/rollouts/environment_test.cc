#include "rollouts/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace corisco::rollouts {
namespace {
TEST(Environment, PassesNothingThatIsNotNamed) {
  ::setenv("CORISCO_TEST_SECRET", "s", 1);
  ::setenv("CORISCO_TEST_WANTED", "w", 1);
  ::setenv("PATH", "/usr/bin:/bin", 1);
  ::setenv("HOME", "/h", 1);
  ::setenv("LANG", "C.UTF-8", 1);
  const Environment expected{{"PATH", "/usr/bin:/bin"}, {"HOME", "/h"}, {"LANG", "C.UTF-8"},
                             {"CORISCO_TEST_WANTED", "w"}};
  EXPECT_EQ(passed_environment({"CORISCO_TEST_WANTED", "CORISCO_TEST_UNSET"}), expected);
}

TEST(Environment, HoldsTheContract) {
  Environment environment;
  add_contract({{RolloutId{7}, 2}, "http://127.0.0.1:8080", "cor-1", "/t.json", "/reward"}, environment);
  const Environment expected{
      {"OPENAI_BASE_URL", "http://127.0.0.1:8080/rollout/7/attempt/2/v1"},
      {"OPENAI_API_BASE", "http://127.0.0.1:8080/rollout/7/attempt/2/v1"},
      {"OPENAI_API_KEY", "cor-1"},
      {"ANTHROPIC_BASE_URL", "http://127.0.0.1:8080/rollout/7/attempt/2"},
      {"ANTHROPIC_API_KEY", "cor-1"},
      {"ANTHROPIC_AUTH_TOKEN", "cor-1"},
      {"AGL_OPENAI_BASE_URL", "http://127.0.0.1:8080/rollout/7/attempt/2/v1"},
      {"AGL_EVENT_URL", "http://127.0.0.1:8080/rollout/7/attempt/2/events"},
      {"AGL_KEY", "cor-1"},
      {"CORISCO_TASK", "/t.json"},
      {"CORISCO_REWARD_FILE", "/reward"},
      {"CORISCO_ROLLOUT_ID", "7"}};
  EXPECT_EQ(environment, expected);
}
}  // namespace
}  // namespace corisco::rollouts
