// Values by hand.
#include "trainer/assemble.h"

#include <gtest/gtest.h>

#include "trainer/batch_builder.h"

namespace corisco::trainer {
namespace {
constexpr auto kKind = AdvantageKind::grpo_no_std;

double sum_of_weights(const Assembly& assembly, const TrainRow& row) {
  double sum = 0;
  for (std::size_t i = 0; i < row.num_tokens; ++i) sum += assembly.tokens[row.first_token + i].weight;
  return sum;
}

TEST(Assemble, ARolloutWeighsTheSameHoweverManyRowsItMakes) {
  TrainBatch batch;
  batch.groups = {make_group(0, {make_rollout(0, 1, {make_row({1, 2, 3, 4, 5}, ".xxxx")}),
                                 make_rollout(1, 0,
                                              {make_row({1, 2, 3}, ".xx"), make_row({1, 6, 7}, ".xx"),
                                               make_row({1, 6, 7, 8, 9}, ".xxxx")})})};
  const Assembly assembly = assemble(std::move(batch), {0}, kKind, false);
  ASSERT_EQ(assembly.rows.size(), 4U);
  EXPECT_DOUBLE_EQ(sum_of_weights(assembly, assembly.rows[0]), 0.5);
  EXPECT_DOUBLE_EQ(assembly.tokens[0].weight, 1.0 / 8);
  EXPECT_DOUBLE_EQ(assembly.tokens[4].weight, 1.0 / 16);
  EXPECT_DOUBLE_EQ(sum_of_weights(assembly, assembly.rows[1]), 0.125);
  EXPECT_DOUBLE_EQ(sum_of_weights(assembly, assembly.rows[3]), 0.25);
  for (std::size_t i = 0; i < 12; ++i) EXPECT_DOUBLE_EQ(assembly.tokens[i].advantage, i < 4 ? 0.5 : -0.5);
}

TEST(Assemble, RowsOfZeroAdvantageCountInTheDivisorButAreNotForwarded) {
  const auto batch = [] {
    TrainBatch made;
    made.groups = {make_group(0, {make_rollout(0, 1, {make_row({1, 2}, ".x")}),
                                  make_rollout(1, 0, {make_row({1, 3}, ".x")})}),
                   make_group(1, {make_rollout(0, .2, {make_row({4, 2}, ".x")}),
                                  make_rollout(1, .2, {make_row({4, 3}, ".x")})})};
    return made;
  };
  const Assembly assembly = assemble(batch(), {0}, kKind, false);
  EXPECT_EQ(assembly.rows.size(), 2U);
  EXPECT_DOUBLE_EQ(assembly.tokens[0].weight, 0.25);
  EXPECT_EQ(assembly.report.num_rollouts, 4U);
  EXPECT_EQ(assembly.report.num_rows, 4U);
  EXPECT_EQ(assembly.report.num_constant_groups, 1U);
  EXPECT_EQ(assembly.report.num_trained_tokens, 4U);
  const Assembly every = assemble(batch(), {0}, kKind, true);
  EXPECT_EQ(every.rows.size(), 4U);
  EXPECT_DOUBLE_EQ(every.tokens[3].weight, 0.25);
  EXPECT_EQ(every.tokens[3].advantage, 0);
}

TEST(Assemble, InvalidRolloutsAreOutOfEverything) {
  TrainBatch batch;
  batch.groups = {make_group(
      0, {make_rollout(0, 1, {make_row({1, 2}, ".x")}), make_rollout(1, 0, {make_row({1, 3}, ".x")}),
          make_rollout(2, 77, {make_row({1, 4}, ".x")})})};
  batch.groups[0].rollouts[2].is_valid = false;
  const Assembly assembly = assemble(std::move(batch), {0}, kKind, true);
  EXPECT_EQ(assembly.rows.size(), 2U);
  EXPECT_DOUBLE_EQ(assembly.tokens[0].weight, 0.5);
  EXPECT_EQ(assembly.report.num_rollouts, 2U);
  EXPECT_DOUBLE_EQ(assembly.report.reward_mean, 0.5);
  EXPECT_NEAR(assembly.report.reward_std, 0.70710678, 1e-8);
}

TEST(Assemble, ARolloutWithoutTrainedTokensContributesNothingButIsCounted) {
  TrainBatch batch;
  batch.groups = {make_group(0, {make_rollout(0, 1, {make_row({1, 2}, ".x")}), make_rollout(1, 0, {}),
                                 make_rollout(2, 0.5, {make_row({1, 2, 3}, "...")})})};
  const Assembly assembly = assemble(std::move(batch), {0}, kKind, true);
  ASSERT_EQ(assembly.rows.size(), 1U);
  EXPECT_DOUBLE_EQ(assembly.tokens[0].weight, 1.0 / 3);
}

TEST(Assemble, OrderIsThatOfTasksNotOfArrival) {
  TrainBatch batch;
  batch.groups = {
      make_group(5, {make_rollout(1, 0, {make_row({1, 40}, ".x")}),
                     make_rollout(0, 1, {make_row({1, 31, 32}, "..x"), make_row({1, 30}, ".x")})}),
      make_group(
          2, {make_rollout(0, 1, {make_row({1, 10}, ".x")}), make_rollout(1, 0, {make_row({1, 20}, ".x")})})};
  std::swap(batch.groups[0].rollouts[1].rows[0].branch, batch.groups[0].rollouts[1].rows[1].branch);
  const Assembly assembly = assemble(std::move(batch), {0}, kKind, false);
  std::vector<TokenId> ids;
  for (const auto& token : assembly.tokens) ids.push_back(token.id);
  EXPECT_EQ(ids, (std::vector<TokenId>{10, 20, 30, 32, 40}));
}

TEST(Assemble, AgesAreVersionsPerToken) {
  TrainBatch batch;
  auto row = make_row({1, 2, 3, 4}, ".xxx", 5);
  row.policy_versions[3] = {7};
  batch.groups = {
      make_group(0, {make_rollout(0, 1, {row}), make_rollout(1, 0, {make_row({1, 9}, ".x", 7)})})};
  batch.undelivered_share = 0.125;
  const Assembly assembly = assemble(std::move(batch), {7}, kKind, false);
  EXPECT_EQ(assembly.report.undelivered_share, 0.125);   // carried through
  EXPECT_EQ(assembly.tokens[0].age, 2U);
  EXPECT_EQ(assembly.tokens[2].age, 0U);
  EXPECT_TRUE(assembly.has_older_policy);
  EXPECT_DOUBLE_EQ(assembly.report.policy_age_max, 2);
  EXPECT_DOUBLE_EQ(assembly.report.policy_age_mean, 1);
}

TEST(Assemble, TheLastTrainedTokenIsPredictedButNotForwarded) {
  TrainBatch batch;
  batch.groups = {make_group(0, {make_rollout(0, 1, {make_row({1, 2, 3, 4, 5}, ".x.x.")}),
                                 make_rollout(1, 0, {make_row({1, 2}, ".x")})})};
  const Assembly assembly = assemble(std::move(batch), {0}, kKind, false);
  EXPECT_EQ(assembly.rows[0].forward_length, 3U);
  EXPECT_EQ(assembly.rows[0].num_tokens, 2U);
}

TEST(AssembleDeathTest, ATrainedFirstTokenIsABug) {
  TrainBatch batch;
  batch.groups = {make_group(
      0, {make_rollout(0, 1, {make_row({1, 2}, "x.")}), make_rollout(1, 0, {make_row({1, 2}, ".x")})})};
  EXPECT_DEATH((void)assemble(std::move(batch), {0}, kKind, false), "no context");
}
}  // namespace
}  // namespace corisco::trainer
