// Whose sampling values apply, and what the key of a draw depends on.
#include "gateway/sampling_policy.h"

#include <gtest/gtest.h>

#include <set>

namespace corisco::gateway {
namespace {
struct SamplingPolicyTest : testing::Test {
  config::Config config;
  ChatRequest request;
  AttemptOpening opening{{RolloutId{3}, 1}, Mode::train, 5, 2, 0, 0, 0};
  SamplingPolicyTest() {
    config.sampling.temperature = 0.8F;
    config.sampling.top_k = 40;
    request.sampling.temperature = 0.0;
    request.sampling.seed = 42;
  }
};

TEST_F(SamplingPolicyTest, TheRunsInTraining) {
  const auto decision = decide_sampling(config, &opening, request);
  EXPECT_FLOAT_EQ(decision.params.temperature, 0.8F);
  EXPECT_EQ(decision.params.top_k, 40U);
  EXPECT_FALSE(decision.uses_client_seed);
  ASSERT_EQ(decision.overridden.size(), 2U);
  EXPECT_STREQ(decision.overridden[0], "temperature");
  EXPECT_STREQ(decision.overridden[1], "seed");
}

TEST_F(SamplingPolicyTest, TheClientsIfTheConfigSaysSo) {
  config.sampling.obey_client = true;
  const auto decision = decide_sampling(config, &opening, request);
  EXPECT_FLOAT_EQ(decision.params.temperature, 0.0F);
  EXPECT_EQ(decision.params.top_k, 40U);
  EXPECT_TRUE(decision.uses_client_seed);
  EXPECT_TRUE(decision.overridden.empty());
}

TEST_F(SamplingPolicyTest, PenaltiesBiasesAndEndsAreTheClientsWhereItIsObeyed) {
  config.sampling.repetition_penalty = 1.5F;
  config.sampling.presence_penalty = 0.25F;
  auto& wishes = request.sampling;
  wishes = {};
  wishes.presence_penalty = -1;
  wishes.frequency_penalty = 0.5;
  wishes.logit_bias = {{3, 2.0F}};
  wishes.min_tokens = 4;
  wishes.ignores_end = true;
  const auto run = decide_sampling(config, &opening, request);
  EXPECT_FLOAT_EQ(run.params.repetition_penalty, 1.5F);
  EXPECT_FLOAT_EQ(run.params.presence_penalty, 0.25F);
  EXPECT_FLOAT_EQ(run.params.frequency_penalty, 0);
  EXPECT_TRUE(run.params.logit_bias.empty() && run.params.min_tokens == 0 && !run.params.ignores_end);
  EXPECT_EQ(run.overridden.size(), 5U);
  const auto outside = decide_sampling(config, nullptr, request).params;
  EXPECT_FLOAT_EQ(outside.repetition_penalty, 1);    // the config's are those of rollouts
  EXPECT_FLOAT_EQ(outside.presence_penalty, -1);
  config.sampling.obey_client = true;
  const auto obeyed = decide_sampling(config, &opening, request);
  EXPECT_TRUE(obeyed.overridden.empty());
  EXPECT_FLOAT_EQ(obeyed.params.repetition_penalty, 1.5F);
  EXPECT_FLOAT_EQ(obeyed.params.presence_penalty, -1);
  EXPECT_FLOAT_EQ(obeyed.params.frequency_penalty, 0.5F);
  EXPECT_EQ(obeyed.params.logit_bias.at(0).id, 3);
  EXPECT_EQ(obeyed.params.min_tokens, 4U);
  EXPECT_TRUE(obeyed.params.ignores_end);
}

// Whatever the model's folder says of sampling, a value that neither the config nor the client has is off.
TEST_F(SamplingPolicyTest, NoOtherSourceThanConfigAndClient) {
  const config::Config plain;
  for (const bool is_in_rollout : {true, false}) {
    const auto params = decide_sampling(plain, is_in_rollout ? &opening : nullptr, ChatRequest()).params;
    EXPECT_FLOAT_EQ(params.temperature, 1);
    EXPECT_FLOAT_EQ(params.top_p, 1);
    EXPECT_EQ(params.top_k, 0U);
    EXPECT_FLOAT_EQ(params.min_p, 0);
    EXPECT_FLOAT_EQ(params.repetition_penalty, 1);
    EXPECT_FLOAT_EQ(params.presence_penalty, 0);
    EXPECT_FLOAT_EQ(params.frequency_penalty, 0);
    EXPECT_EQ(params.min_tokens, 0U);
  }
}

TEST_F(SamplingPolicyTest, EvaluationsInValidation) {
  config.sampling.obey_client = true;
  config.evaluation.temperature = 0.3F;
  opening.mode = Mode::val;
  EXPECT_FLOAT_EQ(decide_sampling(config, &opening, request).params.temperature, 0.3F);
}

TEST_F(SamplingPolicyTest, OutsideAnyRolloutTheDefaultIsOne) {
  request.sampling = {};
  const auto params = decide_sampling(config, nullptr, request).params;
  EXPECT_FLOAT_EQ(params.temperature, 1.0F);
  EXPECT_EQ(params.top_k, 0U);
}

TEST_F(SamplingPolicyTest, EveryPartOfTheKeyCounts) {
  const std::vector<TokenId> prompt{1, 2}, other{1, 3};
  std::set<std::uint64_t> keys;
  keys.insert(rollout_key(1, opening, prompt, 0, 0));
  EXPECT_EQ(rollout_key(1, opening, prompt, 0, 0), *keys.begin());
  keys.insert(rollout_key(2, opening, prompt, 0, 0));
  keys.insert(rollout_key(1, opening, other, 0, 0));
  keys.insert(rollout_key(1, opening, prompt, 1, 0));
  keys.insert(rollout_key(1, opening, prompt, 0, 1));
  auto changed = opening;
  changed.sibling = 9;
  keys.insert(rollout_key(1, changed, prompt, 0, 0));
  changed = opening;
  changed.task_occurrence = 9;
  keys.insert(rollout_key(1, changed, prompt, 0, 0));
  changed = opening;
  changed.salt = 9;
  keys.insert(rollout_key(1, changed, prompt, 0, 0));
  EXPECT_EQ(keys.size(), 8U);
  changed = opening;
  changed.attempt = {RolloutId{99}, 4};   // which attempt it is must not matter
  EXPECT_EQ(keys.count(rollout_key(1, changed, prompt, 0, 0)), 1U);
}

TEST_F(SamplingPolicyTest, LengthOfAReply) {
  config.sampling.max_tokens = 50;
  const auto max = [&](bool is_in_rollout, std::size_t prompt, std::uint32_t context) {
    return reply_tokens_max(config.sampling, is_in_rollout, request, prompt, context).value_or(0);
  };
  EXPECT_EQ(max(true, 10, 1000), 50U);
  EXPECT_EQ(max(true, 970, 1000), 30U);
  EXPECT_EQ(max(true, 999, 1000), 1U);
  EXPECT_EQ(max(true, 1000, 1000), 0U);
  request.max_tokens = 32000;
  EXPECT_EQ(max(true, 10, 1000), 50U);
  EXPECT_EQ(max(false, 10, 1000), 990U);
  request.max_tokens = 5;
  EXPECT_EQ(max(true, 10, 1000), 5U);
}
}  // namespace
}  // namespace corisco::gateway
