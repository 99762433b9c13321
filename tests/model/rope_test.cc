// How much each pair of a head's numbers turns, to the bit: the numbers are those of transformers 5.24.0. A frequency
// one bit off turns the 131,071st position by up to 0.008 more.
#include "model/rope.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace corisco::model {
namespace {
using Expected = std::vector<std::pair<std::size_t, float>>;

// Some of the frequencies, by their places.
void expect_frequencies(const RopeConfig& rope, std::int64_t head_dim, const Expected& expected) {
  const auto made = rope_frequencies(rope, head_dim).inverse_frequencies;
  ASSERT_EQ(made.size(), static_cast<std::size_t>(head_dim / 2));
  for (const auto& [place, frequency] : expected) EXPECT_EQ(made[place], frequency) << rope.type << " " << place;
}

// Of the golden yarn model.
RopeConfig small_yarn() {
  return {.type = "yarn", .theta = 100, .factor = 4, .beta_fast = 4, .original_max_position = 32};
}

TEST(Rope, Llama31s) {
  expect_frequencies({.theta = 5e5}, 128,
                     {{1, 0.814617217F}, {5, 0.358730227F}, {9, 0.157972813F}, {13, 0.0695659518F},
                      {20, 0.0165604409F}, {29, 0.00261609908F}, {33, 0.00115204265F}, {41, 0.000223407274F},
                      {52, 2.34199979e-05F}, {63, 2.4551407e-06F}});
  expect_frequencies({.type = "llama3", .theta = 5e5, .factor = 8, .original_max_position = 8192}, 128,
                     {{1, 0.814617217F}, {13, 0.0695659518F}, {20, 0.0165604409F}, {29, 0.00216657063F},
                      {33, 0.00031269365F}, {41, 2.79259093e-05F}, {52, 2.92749974e-06F}, {63, 3.06892588e-07F}});
}

TEST(Rope, LinearIsDivided) {
  expect_frequencies({.type = "linear", .theta = 1e5, .factor = 3}, 64,
                     {{1, 0.232610181F}, {2, 0.162322506F}, {5, 0.0551605672F}, {17, 0.000735578069F},
                      {31, 4.77670892e-06F}});
}

TEST(Rope, YarnBlendsByDimension) {
  expect_frequencies(small_yarn(), 8, {{0, 1.0F}, {1, 0.197642356F}, {2, 0.0250000004F}, {3, 0.00790569466F}});
  expect_frequencies({.type = "yarn", .theta = 1e6, .factor = 4, .original_max_position = 32768}, 128,
                     {{1, 0.805842221F}, {20, 0.0133352149F}, {29, 0.00140511245F}, {33, 0.000450323569F},
                      {41, 3.58253164e-05F}, {63, 3.10234441e-07F}});
}

TEST(Rope, YarnsRampBeginsWithinADimensionIfItIsNotTruncated) {
  RopeConfig small = small_yarn();
  small.truncates = false;
  expect_frequencies(small, 8, {{0, 1.0F}, {1, 0.160589159F}, {2, 0.0250000004F}, {3, 0.00790569466F}});
  expect_frequencies({.type = "yarn", .theta = 1e6, .factor = 4, .truncates = false, .original_max_position = 32768},
                     128, {{20, 0.0133352149F}, {29, 0.00142853614F}, {33, 0.000451830361F}, {41, 3.58253164e-05F}});
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
  EXPECT_EQ(made.inverse_frequencies, rope_frequencies({.theta = 100}, 8).inverse_frequencies);
  EXPECT_EQ(made.scale, 1);
}
}  // namespace
}  // namespace corisco::model
