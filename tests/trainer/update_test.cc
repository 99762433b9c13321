// Properties of whole updates on a small random decoder: how rows and micro-batches are cut does
// not matter, what has no gradient is not forwarded, and a broken update leaves no trace.
#include <gtest/gtest.h>

#include <cmath>
#include <exception>
#include <limits>

#include "corisco/base/strings.h"
#include "corisco/trainer/trainer.h"
#include "trainer/batch_builder.h"
#include "trainer/tiny_decoder.h"

namespace corisco::trainer {
namespace {
config::Trainer make_options() {
  config::Trainer options;
  options.learning_rate = 1e-3;
  options.micro_batch_tokens = 64;
  return options;
}

std::vector<TokenId> ids(TokenId first, int count) {
  std::vector<TokenId> result;
  for (int i = 0; i < count; ++i) result.push_back((first + 7 * i) % 64);
  return result;
}

// [prompt][reply][context][reply], as one row of a branch or as a row per call.
std::vector<Sample> two_turns(TokenId seed, bool as_one_row) {
  auto tokens = ids(1, 6);  // the prompt that siblings share
  const auto first = ids(seed, 4), context = ids(9, 3), second = ids(seed + 3, 5);
  tokens.insert(tokens.end(), first.begin(), first.end());
  const auto turn_0 = tokens;
  tokens.insert(tokens.end(), context.begin(), context.end());
  tokens.insert(tokens.end(), second.begin(), second.end());
  if (as_one_row) return {make_row(tokens, "......xxxx...xxxxx")};
  return {make_row(turn_0, "......xxxx"), make_row(tokens, ".............xxxxx")};
}

TrainBatch make_batch(bool as_one_row) {
  TrainBatch batch;
  for (std::uint64_t g = 0; g < 3; ++g) {
    std::vector<TrainRollout> rollouts;
    for (std::uint32_t s = 0; s < 4; ++s)
      rollouts.push_back(make_rollout(s, s == 0 ? 1 : 0.25 * static_cast<double>(s % 2),
                                      two_turns(static_cast<TokenId>(11 + 5 * s + g), as_one_row)));
    rollouts[3].rows = {make_row(ids(static_cast<TokenId>(g), 12), "....xxxxxxxx")};
    batch.groups.push_back(make_group(g, std::move(rollouts)));
  }
  return batch;
}

void run_all(Trainer& trainer, TrainBatch batch, PolicyVersion current) {
  trainer.begin(std::move(batch), current);
  while (trainer.advance()) {
  }
}

std::map<std::string, std::vector<float>> gradients_after(const config::Trainer& options, TrainBatch batch,
                                                          std::uint32_t* num_micro_batches = nullptr) {
  const auto decoder = tiny_decoder();
  const auto trainer = Trainer::create(*decoder, options, 1).value();
  run_all(*trainer, std::move(batch), {0});
  auto gradients = gradients_of(*decoder);
  const UpdateReport report = trainer->publish();
  EXPECT_FALSE(report.was_skipped);
  if (num_micro_batches) *num_micro_batches = report.num_micro_batches;
  return gradients;
}

void expect_same(const std::map<std::string, std::vector<float>>& got,
                 const std::map<std::string, std::vector<float>>& wanted, const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size());
  for (const auto& [name, values] : wanted)
    EXPECT_LE(relative_difference(got.at(name), values), 1e-6) << what << name;
}

TEST(Update, GradientsDoNotDependOnHowRowsAndMicroBatchesAreCut) {
  for (const float kl : {0.0F, 0.1F}) {
    auto options = make_options();
    options.kl_coefficient = kl;
    options.share_prefixes = false;
    options.micro_batch_tokens = 100000;
    std::uint32_t num_micro_batches = 0;
    const auto wanted = gradients_after(options, make_batch(true), &num_micro_batches);
    EXPECT_EQ(num_micro_batches, 1U);
    for (const bool shares : {false, true})
      for (const bool as_one_row : {false, true})
        for (const std::uint32_t budget : {1U, 40U, 100000U}) {
          options.share_prefixes = shares;
          options.micro_batch_tokens = budget;
          expect_same(
              gradients_after(options, make_batch(as_one_row)), wanted,
              cat("kl ", kl, ", shares ", shares, ", one row ", as_one_row, ", budget ", budget, ": "));
        }
  }
}

TEST(Update, RowsOfZeroAdvantageAreNotForwarded) {
  const auto decoder = tiny_decoder();
  const auto trainer = Trainer::create(*decoder, make_options(), 1).value();
  TrainBatch batch;
  batch.groups = {
      make_group(0, {make_rollout(0, 1, {make_row(ids(1, 8), "....xxxx")}),
                     make_rollout(1, .5, {make_row(ids(2, 30), std::string(4, '.') + std::string(26, 'x'))}),
                     make_rollout(2, 0, {make_row(ids(3, 8), "....xxxx")})})};
  run_all(*trainer, batch, {0});
  const UpdateReport report = trainer->publish();
  EXPECT_EQ(report.num_forwarded_tokens, 14U);
  EXPECT_EQ(report.num_trained_tokens, 34U);
  EXPECT_EQ(report.num_rollouts, 3U);
}

TEST(Update, NothingToLearnIsSkippedWithoutATrace) {
  const auto decoder = tiny_decoder();
  const auto before = weights_of(*decoder);
  const auto trainer = Trainer::create(*decoder, make_options(), 1).value();
  TrainBatch batch;
  batch.groups = {make_group(0, {make_rollout(0, .2, {make_row(ids(1, 8), "....xxxx")}),
                                 make_rollout(1, .2, {make_row(ids(2, 8), "....xxxx")})}),
                  make_group(1, {make_rollout(0, 1, {}), make_rollout(1, 0, {})})};
  trainer->begin(batch, {0});
  EXPECT_FALSE(trainer->advance());
  EXPECT_DOUBLE_EQ(trainer->progress(), 1);
  const UpdateReport report = trainer->publish();
  EXPECT_TRUE(report.was_skipped);
  EXPECT_EQ(report.policy_version.value, 0U);
  EXPECT_EQ(report.num_constant_groups, 1U);
  EXPECT_EQ(weights_of(*decoder), before);
}

TEST(Update, AdvanceCountsSlicesAndProgress) {
  const auto decoder = tiny_decoder();
  auto options = make_options();
  options.epochs = 3;
  const auto trainer = Trainer::create(*decoder, options, 1).value();
  trainer->begin(make_batch(true), {0});
  double last = 0;
  std::uint32_t slices = 1;
  while (trainer->advance()) {
    ++slices;
    EXPECT_GT(trainer->progress(), last);
    last = trainer->progress();
  }
  const UpdateReport report = trainer->publish();
  EXPECT_GT(report.num_micro_batches, 1U);
  EXPECT_EQ(slices, 4 * report.num_micro_batches + 2);  // old log-probabilities, 3 epochs, 2 steps between
  EXPECT_EQ(trainer->version().value, 1U);
}

// A weight that is not a number makes every gradient so.
void poison(model::Decoder& decoder, float value) {
  for (auto& [name, tensor] : decoder.parameters())
    if (tensor.dim() == 1) tensor.detach().select(0, 0).fill_(value);
}

TEST(Update, ABrokenGradientLeavesTheWeightsAndTheOptimizer) {
  const auto decoder = tiny_decoder(), twin = tiny_decoder();
  const auto trainer = Trainer::create(*decoder, make_options(), 9).value();
  const auto undisturbed = Trainer::create(*twin, make_options(), 9).value();
  poison(*decoder, std::numeric_limits<float>::quiet_NaN());
  run_all(*trainer, make_batch(true), {0});
  const UpdateReport report = trainer->publish();
  EXPECT_TRUE(report.was_skipped);
  EXPECT_EQ(report.policy_version.value, 0U);
  EXPECT_EQ(trainer->version().value, 0U);
  poison(*decoder, 1);
  run_all(*trainer, make_batch(true), {0});
  run_all(*undisturbed, make_batch(true), {0});
  EXPECT_FALSE(trainer->publish().was_skipped);
  EXPECT_FALSE(undisturbed->publish().was_skipped);
  EXPECT_EQ(weights_of(*decoder), weights_of(*twin));
}

TEST(Update, DiscardBetweenEpochsGoesBackBitForBit) {
  const auto decoder = tiny_decoder();
  const auto before = weights_of(*decoder);
  auto options = make_options();
  options.epochs = 2;
  const auto trainer = Trainer::create(*decoder, options, 1).value();
  run_all(*trainer, make_batch(true), {0});  // all but the last step
  EXPECT_NE(weights_of(*decoder), before);
  trainer->discard();
  EXPECT_EQ(weights_of(*decoder), before);
  for (const auto& [name, values] : gradients_of(*decoder))
    for (const float value : values) ASSERT_EQ(value, 0.0F) << name;
}

struct Stop : std::exception {};

// The daemon's end within a micro-batch, forward or backward.
TEST(Update, StopsBetweenLayersWithoutATrace) {
  const int num_layers = static_cast<int>(tiny_config().num_layers);
  for (int run = 0; run < 4 * num_layers; ++run) {
    const int calls_allowed = run % (2 * num_layers);
    const char* dtype = run < 2 * num_layers ? "float32" : "bfloat16";
    const auto decoder = tiny_decoder(3, dtype), undisturbed = tiny_decoder(3, dtype);
    const auto before = weights_of(*decoder);
    int calls = 0;
    decoder->set_between_layers([&] {
      if (calls++ == calls_allowed) throw Stop{};
    });
    const auto trainer = Trainer::create(*decoder, make_options(), 1).value();
    EXPECT_THROW(run_all(*trainer, make_batch(true), {0}), Stop) << calls_allowed;
    EXPECT_EQ(calls, calls_allowed + 1);
    trainer->discard();
    EXPECT_EQ(weights_of(*decoder), before);
    decoder->set_between_layers(nullptr);
    const auto other = Trainer::create(*undisturbed, make_options(), 1).value();
    for (auto* each : {trainer.get(), other.get()}) {
      run_all(*each, make_batch(true), {0});
      (void)each->publish();
    }
    EXPECT_EQ(weights_of(*decoder), weights_of(*undisturbed));
  }
}

TEST(Update, TheSameUpdateTwiceIsBitEqual) {
  const auto a = tiny_decoder(), b = tiny_decoder();
  const auto first = Trainer::create(*a, make_options(), 2).value(),
             second = Trainer::create(*b, make_options(), 2).value();
  for (const auto& trainer : {first.get(), second.get()})
    for (std::uint64_t version = 0; version < 2; ++version) {
      run_all(*trainer, make_batch(true), {version});
      (void)trainer->publish();
    }
  EXPECT_EQ(weights_of(*a), weights_of(*b));
}

TEST(Update, LearningRateFollowsTheSchedule) {
  const auto decoder = tiny_decoder();
  auto options = make_options();
  options.schedule = "linear";
  options.warmup_updates = 1;
  const auto trainer = Trainer::create(*decoder, options, 3).value();
  for (const double wanted : {1e-3, 1e-3, 1e-4}) {
    run_all(*trainer, make_batch(true), trainer->version());
    EXPECT_NEAR(trainer->publish().learning_rate, wanted, 1e-12);
  }
}

TEST(Update, TheDivergenceIsMeasuredFromTheInitialWeights) {
  const auto decoder = tiny_decoder();
  auto options = make_options();
  options.kl_coefficient = 0.01F;
  const auto trainer = Trainer::create(*decoder, options, 8).value();
  const auto batch = [](std::uint64_t version) {
    TrainBatch made;
    made.groups = {make_group(0, {make_rollout(0, 1, {make_row(ids(1, 8), "....xxxx", version)}),
                                  make_rollout(1, 0, {make_row(ids(2, 8), "....xxxx", version)})})};
    return made;
  };
  std::vector<double> kl;
  for (std::uint64_t version = 0; version < 8; ++version) {
    run_all(*trainer, batch(version), {version});
    kl.push_back(trainer->publish().kl_reference);
  }
  EXPECT_NEAR(kl.front(), 0, 1e-9);
  EXPECT_GT(kl.back(), 1e-4);
}
}  // namespace
}  // namespace corisco::trainer
