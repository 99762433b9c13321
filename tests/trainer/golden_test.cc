// Whole updates against an implementation of their own in PyTorch (scripts/golden/trainer.py):
// gradients, weights and report; and AdamW alone against torch.optim.AdamW.
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "corisco/base/files.h"
#include "corisco/base/json.h"
#include "corisco/base/strings.h"
#include "corisco/trainer/trainer.h"
#include "trainer/optimizer.h"
#include "trainer/tensor_file.h"
#include "trainer/tiny_decoder.h"

namespace corisco::trainer {
namespace {
using Json = nlohmann::json;
const std::string kFolder = std::string(CORISCO_SOURCE_FOLDER) + "/tests/trainer/golden/";

Json fixture(const std::string& name) { return parse_json(files::read(kFolder + name + ".json").value()); }

Sample row_of(const Json& json, std::uint32_t branch) {
  Sample row;
  row.branch = branch;
  row.token_ids = json.at("ids").get<std::vector<TokenId>>();
  row.loss_mask = json.at("mask").get<std::vector<std::uint8_t>>();
  row.sampled_logprobs = json.at("sampled_logprobs").get<std::vector<float>>();
  for (const auto& version : json.at("versions")) row.policy_versions.push_back({version});
  row.call_index.assign(row.token_ids.size(), 0);
  row.temperature = json.at("temperature");
  return row;
}

TrainBatch batch_of(const Json& json) {
  TrainBatch batch;
  for (const auto& group_json : json.at("groups")) {
    TrainGroup group;
    group.task_occurrence = group_json.at("task_occurrence");
    for (const auto& rollout_json : group_json.at("rollouts")) {
      TrainRollout rollout;
      rollout.sibling = rollout_json.at("sibling");
      rollout.is_valid = rollout_json.at("is_valid");
      rollout.reward = rollout_json.at("reward");
      for (const auto& row : rollout_json.at("rows"))
        rollout.rows.push_back(row_of(row, static_cast<std::uint32_t>(rollout.rows.size())));
      group.rollouts.push_back(std::move(rollout));
    }
    batch.groups.push_back(std::move(group));
  }
  return batch;
}

config::Trainer options_of(const Json& json) {
  config::Trainer options;
  options.learning_rate = json.at("learning_rate");
  options.weight_decay = json.at("weight_decay");
  options.epsilon = json.at("epsilon");
  options.grad_norm_max = json.at("grad_norm_max");
  options.clip_low = json.at("clip_low");
  options.clip_high = json.at("clip_high");
  options.dual_clip = json.at("dual_clip");
  options.correction_cap = json.at("correction_cap");
  options.kl_coefficient = json.at("kl_coefficient");
  options.epochs = json.at("epochs");
  options.micro_batch_tokens = 40;  // several micro-batches
  return options;
}

void expect_report(const UpdateReport& got, const Json& wanted) {
  EXPECT_NEAR(got.loss, wanted.at("loss"), 1e-5);
  EXPECT_NEAR(got.clipped_fraction, wanted.at("clipped_fraction"), 1e-9);
  EXPECT_NEAR(got.kl_sampled, wanted.at("kl_sampled"), 1e-5);
  EXPECT_NEAR(got.kl_reference, wanted.at("kl_reference"), 1e-5);
  EXPECT_NEAR(got.mismatch_mean, wanted.at("mismatch_mean"), 1e-5);
  EXPECT_NEAR(got.mismatch_max, wanted.at("mismatch_max"), 1e-5);
  for (std::size_t i = 0; i < kDriftAges; ++i)
    EXPECT_NEAR(got.drift_means[i], wanted.at("drift_means").at(i).get<double>(), 1e-5) << i;
  EXPECT_NEAR(got.grad_norm, wanted.at("grad_norm"), 1e-5 * wanted.at("grad_norm").get<double>());
  EXPECT_FALSE(got.was_skipped);
}

void expect_tensors(const std::string& scenario, const std::string& prefix, model::Decoder& decoder,
                    const std::map<std::string, std::vector<float>>& got, double tolerance) {
  auto file = TensorFile::open(kFolder + scenario + ".safetensors");
  ASSERT_TRUE(file.ok());
  for (const auto& [name, tensor] : decoder.hugging_face_tensors()) {
    const at::Tensor wanted = at::empty(tensor.sizes(), at::TensorOptions(at::kFloat));
    ASSERT_TRUE(file.value().read_into(prefix + name, wanted).ok()) << name;
    EXPECT_LE(relative_difference(got.at(name), values_of(wanted)), tolerance) << prefix << name;
  }
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, UpdateMatchesPyTorch) {
  const Json json = fixture(GetParam());
  config::Model model_options;
  model_options.path = kFolder + "llama";
  model_options.dtype = "float32";
  const auto decoder = model::Decoder::load(model_options.path, model_options, false).value();
  const auto trainer = Trainer::create(*decoder, options_of(json.at("options")), 1).value();
  const auto& batches = json.at("batches");
  for (std::size_t version = 0; version < batches.size(); ++version) {
    trainer->begin(batch_of(batches[version]), {version});
    while (trainer->advance()) {
    }
    const auto gradients = gradients_of(*decoder);
    const UpdateReport report = trainer->publish();
    expect_report(report, json.at("reports")[version]);
    EXPECT_EQ(report.policy_version.value, version + 1);
    if (version + 1 == batches.size()) expect_tensors(GetParam(), "gradient.", *decoder, gradients, 1e-5);
  }
  expect_tensors(GetParam(), "weight.", *decoder, weights_of(*decoder), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Golden, testing::Values("current", "older", "epochs"),
                         [](const auto& parameter) { return parameter.param; });

at::Tensor tensor_of(const Json& values, at::IntArrayRef shape) {
  return at::tensor(values.get<std::vector<float>>()).reshape(shape).clone();
}

TEST(GoldenOptimizer, StepsMatchAdamW) {
  const Json json = fixture("adamw");
  std::vector<model::NamedTensor> weights = {{"matrix", tensor_of(json.at("start").at("matrix"), {2, 3})},
                                             {"vector", tensor_of(json.at("start").at("vector"), {3})}};
  Optimizer optimizer(weights,
                      {.weight_decay = json.at("weight_decay"), .grad_norm_max = json.at("grad_norm_max")});
  for (const auto& step : json.at("steps")) {
    optimizer.clear_gradients();
    for (auto& [name, weight] : weights) {
      at::Tensor gradient = weight.mutable_grad();
      gradient.copy_(tensor_of(step.at("gradients").at(name), weight.sizes()));
    }
    optimizer.collect();
    const double norm = optimizer.grad_norm();
    EXPECT_NEAR(norm, step.at("norm"), 1e-5 * norm);
    optimizer.step(step.at("learning_rate"), norm);
    for (const auto& [name, weight] : weights) {
      const auto wanted = step.at("weights").at(name).get<std::vector<float>>();
      EXPECT_LE(relative_difference(values_of(weight), wanted), 1e-6) << name;
    }
  }
  EXPECT_EQ(optimizer.num_steps(), 5U);
}
}  // namespace
}  // namespace corisco::trainer
