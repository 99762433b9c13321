// How much each pair of a head's numbers turns. The numbers are transformers 5.24.0's formulas in numpy, float32
// where it has float32; the golden models hold the whole decoder against it.
#include "model/rope.h"

#include <gtest/gtest.h>

namespace corisco::model {
namespace {
void expect_near(const std::vector<float>& made, const std::vector<float>& expected) {
  ASSERT_EQ(made.size(), expected.size());
  for (std::size_t i = 0; i < made.size(); ++i) EXPECT_NEAR(made[i], expected[i], 2e-7F * expected[i]) << i;
}

// Of the golden yarn model.
RopeConfig small_yarn() {
  return {.type = "yarn", .theta = 100, .factor = 4, .beta_fast = 4, .original_max_position = 32};
}

TEST(Rope, YarnBlendsByDimension) {
  const auto made = rope_frequencies(small_yarn(), 8);
  expect_near(made.inverse_frequencies, {1.0F, 0.19764236F, 0.025F, 0.007905695F});
  EXPECT_FLOAT_EQ(made.scale, 1.138629436F);
}

TEST(Rope, YarnsRampBeginsWithinADimensionIfItIsNotTruncated) {
  RopeConfig rope = small_yarn();
  rope.truncates = false;
  expect_near(rope_frequencies(rope, 8).inverse_frequencies, {1.0F, 0.16058916F, 0.025F, 0.007905695F});
  const RopeConfig large{.type = "yarn", .factor = 4, .truncates = false, .original_max_position = 4096};
  expect_near(rope_frequencies(large, 16).inverse_frequencies,
              {1.0F, 0.31622776F, 0.1F, 0.02861361F, 0.006556971F, 0.0012856319F, 0.00025F, 0.000079056947F});
}

TEST(Rope, YarnsScaleIsGivenOrOfTwoFactorsOrOfOne) {
  RopeConfig rope = small_yarn();
  rope.mscale = 1;
  EXPECT_FLOAT_EQ(rope_frequencies(rope, 8).scale, 1.138629436F);  // one alone counts for nothing
  rope.mscale_all_dim = 0.5;
  EXPECT_FLOAT_EQ(rope_frequencies(rope, 8).scale, 1.064821625F);
  rope.mscale_all_dim = 1;
  EXPECT_FLOAT_EQ(rope_frequencies(rope, 8).scale, 1.0F);
  rope.attention_factor = 1.5;
  EXPECT_FLOAT_EQ(rope_frequencies(rope, 8).scale, 1.5F);
}

TEST(Rope, DynamicIsTheDefaultUpToTheModelsLength) {
  const auto made = rope_frequencies({.type = "dynamic", .theta = 100, .factor = 4}, 8);
  expect_near(made.inverse_frequencies, {1.0F, 0.31622776F, 0.1F, 0.03162278F});
  EXPECT_EQ(made.scale, 1);
}
}  // namespace
}  // namespace corisco::model
