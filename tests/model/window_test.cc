// Sliding windows: the spans by hand, and a layer that really sees nothing older.
#include "model/window.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "support/tiny_model.h"

namespace corisco::model {
namespace {
using Numbers = std::vector<std::int32_t>;

Numbers keys_of(const AttentionPlan& plan, std::size_t row) {
  Numbers keys;
  for (auto s = static_cast<std::size_t>(plan.begin[row]); s < static_cast<std::size_t>(plan.begin[row + 1]); ++s) {
    for (std::int32_t k = 0; k < plan.spans[s].length; ++k) keys.push_back(plan.spans[s].first + k);
  }
  return keys;
}

TEST(Window, KeepsTheLastKeysOfEachRow) {
  AttentionPlan plan;
  plan.spans = {{8, 4}, {2, 2}};  // keys 8 9 10 11 2 3
  plan.end_row();
  plan.spans.push_back({5, 1});
  plan.end_row();
  EXPECT_EQ(keys_of(last_keys(plan, 3), 0), (Numbers{11, 2, 3}));
  EXPECT_EQ(keys_of(last_keys(plan, 2), 0), (Numbers{2, 3}));
  EXPECT_EQ(keys_of(last_keys(plan, 1), 0), (Numbers{3}));
  EXPECT_EQ(keys_of(last_keys(plan, 6), 0), (Numbers{8, 9, 10, 11, 2, 3}));
  EXPECT_EQ(keys_of(last_keys(plan, 100), 0), (Numbers{8, 9, 10, 11, 2, 3}));
  EXPECT_EQ(keys_of(last_keys(plan, 3), 1), (Numbers{5}));
  EXPECT_EQ(last_keys(plan, 2).spans.size(), 2U);  // what lies outside is not kept as empty spans
}

// One layer with a window of 5: the row at position t is that of a pass over its last 5 tokens alone.
TEST(Window, ARowDependsOnNothingOlder) {
  DecoderConfig config = testing::tiny_config();
  config.num_layers = 1;
  config.sliding_window = 5;
  config.sliding_layers = {true};
  const auto decoder = Decoder::random(config, "float32", true, 3);
  const at::NoGradGuard no_grad;
  const std::vector<std::int64_t> ids{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5};
  const at::Tensor all = decoder->hidden(testing::one_sequence(ids));
  for (std::size_t t = 0; t < ids.size(); ++t) {
    const std::size_t first = t < 4 ? 0 : t - 4;
    ForwardInput input;
    for (std::size_t i = first; i <= t; ++i) {
      input.token_ids.push_back(ids[i]);
      input.positions.push_back(static_cast<std::int64_t>(i));
      input.attention.spans.push_back({0, static_cast<std::int32_t>(i - first) + 1});
      input.attention.end_row();
    }
    const auto last = static_cast<std::int64_t>(t - first);
    EXPECT_TRUE(decoder->hidden(input)[last].equal(all[static_cast<std::int64_t>(t)])) << t;
  }
  config.sliding_layers = {false};
  const at::Tensor full = Decoder::random(config, "float32", true, 3)->hidden(testing::one_sequence(ids));
  EXPECT_TRUE(full.narrow(0, 0, 5).equal(all.narrow(0, 0, 5)));
  EXPECT_FALSE(full[5].equal(all[5]));
}
}  // namespace
}  // namespace corisco::model
