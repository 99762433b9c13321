// Penalties, biases and masks by hand.
#include "engine/logit_changes.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace corisco::engine {
namespace {
using Row = std::vector<float>;
constexpr float kNever = -std::numeric_limits<float>::infinity();

Row changed(const DrawRequest& request, Row row) {
  EXPECT_TRUE(changes_logits(request));
  change_logits(request, row);
  return row;
}

// Prompt [0 1 1], reply [1 2 2]: 0 is in the prompt, 1 in both, 2 twice in the reply, 3 nowhere.
SeenTokens example() {
  SeenTokens seen;
  seen.add_prompt(std::vector<TokenId>{0, 1, 1});
  for (const TokenId id : {1, 2, 2}) seen.add_drawn(id);
  return seen;
}

TEST(LogitChanges, NothingAskedForChangesNothing) {
  const SamplingParams params;
  const auto seen = example();
  EXPECT_FALSE(changes_logits({.sampling = &params, .position = 0, .seen = &seen}));
}

TEST(LogitChanges, TheRepetitionPenaltyIsOfPromptAndReplyAndPullsTowardsLess) {
  SamplingParams params;
  params.repetition_penalty = 2;
  const auto seen = example();
  const DrawRequest request{.sampling = &params, .position = 3, .seen = &seen};
  EXPECT_EQ(changed(request, {4, -3, 1, 5}), (Row{2, -6, 0.5F, 5}));
}

TEST(LogitChanges, PresenceAndFrequencyAreOfTheReplyAlone) {
  SamplingParams params;
  params.presence_penalty = 0.5F;
  const auto seen = example();
  const DrawRequest request{.sampling = &params, .position = 3, .seen = &seen};
  EXPECT_EQ(changed(request, {4, 3, 2, 1}), (Row{4, 2.5F, 1.5F, 1}));
  params.presence_penalty = 0;
  params.frequency_penalty = -0.25F;
  EXPECT_EQ(changed(request, {4, 3, 2, 1}), (Row{4, 3.25F, 2.5F, 1}));
}

// Token 2: 8 / 2 = 4, twice .5 less = 3, once .25 less = 2.75, and 10 more.
TEST(LogitChanges, AllTogetherInTheirOrder) {
  SamplingParams params;
  params.repetition_penalty = 2;
  params.frequency_penalty = 0.5F;
  params.presence_penalty = 0.25F;
  params.logit_bias = {{2, 10}, {3, -1}};
  const auto seen = example();
  const DrawRequest request{.sampling = &params, .position = 3, .seen = &seen};
  EXPECT_EQ(changed(request, {8, 8, 8, 8}), (Row{4, 3.25F, 12.75F, 7}));
}

TEST(LogitChanges, EndAndStopTokensWaitForMinTokens) {
  SamplingParams params;
  params.min_tokens = 2;
  params.stop_ids = {3, 99};             // an id that the model does not have is never drawn anyway
  const std::vector<TokenId> end_ids{1};
  DrawRequest request{.sampling = &params, .position = 1, .seen = nullptr, .end_ids = end_ids};
  EXPECT_EQ(changed(request, {1, 2, 3, 4}), (Row{1, kNever, 3, kNever}));
  request.position = 2;
  EXPECT_FALSE(changes_logits(request));
  request.position = 1;
  params.ignores_end = true;             // then an end token ends nothing
  EXPECT_EQ(changed(request, {1, 2, 3, 4}), (Row{1, 2, 3, kNever}));
}

TEST(LogitChanges, OnlyAllowedTokensStayAndTokensBeyondTheWordsDoNot) {
  const SamplingParams params;
  const std::vector<std::uint32_t> allowed{0x80000001U, ~std::uint32_t{0}, 0x2U};
  const DrawRequest request{.sampling = &params, .position = 0, .seen = nullptr, .end_ids = {}, .allowed = allowed};
  const auto row = changed(request, Row(130, 1.0F));
  for (std::size_t id = 0; id < row.size(); ++id) {
    const bool is_allowed = id == 0 || id == 31 || (id >= 32 && id < 64) || id == 65;
    EXPECT_EQ(row[id], is_allowed ? 1.0F : kNever) << id;
  }
}
}  // namespace
}  // namespace corisco::engine
