// Tokens are trained through the experts that they were sampled with, whatever the routers say by now.
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include "corisco/trainer/trainer.h"
#include "support/tiny_model.h"
#include "trainer/batch_builder.h"
#include "trainer/packing.h"
#include "trainer/prefix_tree.h"
#include "trainer/tiny_decoder.h"

namespace corisco::trainer {
namespace {
using Experts = std::vector<model::ExpertId>;
using Ids = std::vector<TokenId>;

// One expert a token in two of three layers: its weight is exactly 1, so that a router decides by its choice
// alone.
std::unique_ptr<model::Decoder> expert_decoder() {
  model::DecoderConfig config = tiny_config();
  config.num_layers = 3;
  config.num_experts = 4;
  config.experts_per_token = 1;
  config.expert_intermediate_size = 24;
  config.expert_layers = {true, false, true};
  config.normalises_expert_weights = true;
  auto decoder = model::Decoder::random(config, "float32", /*deterministic=*/true, 3);
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : decoder->parameters())
    if (tensor.dim() > 1) tensor.mul_(10);
  decoder->refresh_derived();
  return decoder;
}

void turn_routers(model::Decoder& decoder) {
  const at::NoGradGuard no_grad;
  for (const auto& [name, tensor] : decoder.parameters())
    if (name.ends_with("mlp.gate.weight")) tensor.neg_();
  decoder.refresh_derived();
}

// As the decoder samples it: prompt of 4, reply of 8.
Sample sampled_row(model::Decoder& decoder, TokenId seed) {
  Ids ids{1, 8, 15, 22};
  for (TokenId i = 0; i < 8; ++i) ids.push_back((seed + 11 * i) % 64);
  Sample row = make_row(ids, "....xxxxxxxx");
  const Ids targets(ids.begin() + 1, ids.end());
  ids.pop_back();
  model::ForwardInput input = testing::one_sequence({ids.begin(), ids.end()});
  input.used_experts = &row.routed_experts;
  const at::NoGradGuard no_grad;
  const auto logprobs = values_of(
      decoder.selected_logprobs(decoder.hidden(input), {targets.begin(), targets.end()}, 1.0F));
  for (std::size_t t = 4; t < 12; ++t) row.sampled_logprobs[t] = logprobs[t - 1];
  return row;
}

TrainBatch sampled_batch(model::Decoder& decoder) {
  TrainBatch batch;
  batch.groups = {make_group(0, {make_rollout(0, 1, {sampled_row(decoder, 5)}),
                                 make_rollout(1, 0, {sampled_row(decoder, 6)}),
                                 make_rollout(2, 0.25, {sampled_row(decoder, 40)})})};
  return batch;
}

UpdateReport update(model::Decoder& decoder, TrainBatch batch, bool replays, std::uint32_t epochs = 1) {
  config::Trainer options;
  options.learning_rate = 1e-3;
  options.micro_batch_tokens = 64;
  options.replay_routing = replays;
  options.epochs = epochs;
  const auto trainer = Trainer::create(decoder, options, 1).value();
  trainer->begin(std::move(batch), {0});
  while (trainer->advance()) {
  }
  return trainer->publish();
}

// One epoch compares in the pass that learns, two in the pass that measures old log-probabilities.
TEST(RoutingReplay, ReplayedRowsHaveTheirSampledLogprobsUnderOtherRouters) {
  for (const std::uint32_t epochs : {1U, 2U}) {
    const auto decoder = expert_decoder();
    const TrainBatch batch = sampled_batch(*decoder);
    turn_routers(*decoder);
    const UpdateReport report = update(*decoder, batch, true, epochs);
    EXPECT_LE(report.mismatch_max, 1e-6) << epochs;
    EXPECT_GT(report.rerouted_share, 0.5) << epochs;   // who wants the smallest wants another than before
    EXPECT_EQ(report.num_unreplayed_rows, 0U);
  }
}

TEST(RoutingReplay, WithoutItTheyDoNot) {
  const auto decoder = expert_decoder();
  const TrainBatch batch = sampled_batch(*decoder);
  turn_routers(*decoder);
  const UpdateReport report = update(*decoder, batch, false);
  EXPECT_GT(report.mismatch_max, 1e-3);
  EXPECT_EQ(report.rerouted_share, 0);
  EXPECT_EQ(report.num_unreplayed_rows, 0U);
}

TEST(RoutingReplay, UnchangedRoutersRerouteNothing) {
  const auto decoder = expert_decoder();
  const UpdateReport report = update(*decoder, sampled_batch(*decoder), true);
  EXPECT_LE(report.mismatch_max, 1e-6);
  EXPECT_EQ(report.rerouted_share, 0);
}

TEST(RoutingReplay, ARowThatNobodyRecordedIsRoutedAnewAndCounted) {
  const auto decoder = expert_decoder();
  TrainBatch batch = sampled_batch(*decoder);
  batch.groups[0].rollouts[1].rows[0].routed_experts.clear();
  EXPECT_LE(update(*decoder, batch, true).mismatch_max, 1e-6);
  turn_routers(*decoder);
  const UpdateReport report = update(*decoder, batch, true);
  EXPECT_EQ(report.num_unreplayed_rows, 1U);
  EXPECT_GT(report.mismatch_max, 1e-3);
}

// The reference of the KL term routes for itself: with the weights that it has too, it is not the policy.
TEST(RoutingReplay, TheReferenceKeepsItsOwnRouting) {
  const auto decoder = expert_decoder();
  const TrainBatch batch = sampled_batch(*decoder);
  turn_routers(*decoder);
  config::Trainer options;
  options.replay_routing = true;
  options.kl_coefficient = 0.1F;
  const auto trainer = Trainer::create(*decoder, options, 1).value();
  trainer->begin(batch, {0});
  while (trainer->advance()) {
  }
  const UpdateReport report = trainer->publish();
  EXPECT_LE(report.mismatch_max, 1e-6);
  EXPECT_GT(report.kl_reference, 1e-4);
}

// Two experts a token.
TEST(RoutingReplay, RowsPartWhereTheirExpertsDo) {
  const Ids first{1, 2, 3}, second{1, 2, 3}, third{1, 2};
  const Experts one{10, 11, 20, 21, 30, 31}, other{10, 11, 20, 29, 30, 31};
  const Layout layout = lay_out({{first, one}, {second, other}, {third}}, true);
  constexpr auto kOpen = model::kRouterChooses;
  EXPECT_EQ(layout.input.token_ids, (std::vector<std::int64_t>{1, 2, 3, 2, 3, 1, 2}));
  EXPECT_EQ(layout.input.replayed_experts,
            (Experts{10, 11, 20, 21, 30, 31, 20, 29, 30, 31, kOpen, kOpen, kOpen, kOpen}));
  EXPECT_EQ(layout.places[1], (std::vector<std::int32_t>{0, 3, 4}));
  EXPECT_TRUE(lay_out({{first}, {third}}, true).input.replayed_experts.empty());
}

TEST(RoutingReplay, PackedTokensBringTheExpertsOfTheirRows) {
  Sample left = make_row({1, 2, 3, 4}, "..xx"), right = make_row({1, 2, 5, 6}, "..x.");
  left.routed_experts = {10, 20, 30};
  right.routed_experts = {10, 20, 50};     // 5 is not forwarded: nothing behind it is trained
  TrainBatch batch;
  batch.groups = {make_group(0, {make_rollout(0, 1, {left}), make_rollout(1, 0, {right})})};
  const Assembly assembly = assemble(std::move(batch), {0}, AdvantageKind::grpo, false);
  const auto batches = pack(assembly, {.tokens_max = 64, .share_prefixes = true, .replays_routing = true});
  ASSERT_EQ(batches.size(), 1U);
  EXPECT_EQ(batches[0].input.token_ids, (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(batches[0].input.replayed_experts, (Experts{10, 20, 30}));
  EXPECT_TRUE(pack(assembly, {64, true})[0].input.replayed_experts.empty());
}
}  // namespace
}  // namespace corisco::trainer
