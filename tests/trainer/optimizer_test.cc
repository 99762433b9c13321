// Masters of 16-bit weights, decay, finite norms, roll-back.
#include "trainer/optimizer.h"

#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "trainer/tiny_decoder.h"

namespace corisco::trainer {
namespace {
std::vector<model::NamedTensor> one(at::ScalarType type) {
  return {{"weight", at::full({2, 2}, 1.0, at::TensorOptions(type))}};
}

void set_gradient(at::Tensor& weight, double value) {
  weight.mutable_grad() = at::full({2, 2}, value, weight.options().requires_grad(false));
}

TEST(Optimizer, SixteenBitWeightsMoveByStepsSmallerThanTheirSpacing) {
  // Near 1 a bfloat16 is 2^-8 apart below; one step of 1e-3 alone would be lost by rounding.
  auto weights = one(at::kBFloat16);
  Optimizer optimizer(weights, {.grad_norm_max = 0});
  for (int step = 0; step < 5; ++step) {
    optimizer.clear_gradients();
    set_gradient(weights[0].tensor, 1);
    optimizer.collect();
    optimizer.step(1e-3, optimizer.grad_norm());
    if (step == 0) {
      EXPECT_EQ(values_of(weights[0].tensor)[0], 1.0F);
    }
  }
  EXPECT_EQ(values_of(weights[0].tensor)[0], 1.0F - 0.00390625F);  // master 0.995, to the nearest
  EXPECT_EQ(optimizer.state().size(), 3U);
  EXPECT_EQ(optimizer.state()[0].name, "master.weight");
  EXPECT_NEAR(values_of(optimizer.state()[0].tensor)[0], 0.995, 1e-6);
}

TEST(Optimizer, SixteenBitGradientsAddUpInFloat32) {
  auto weights = one(at::kBFloat16);
  Optimizer optimizer(weights, {});
  for (const double value : {256.0, 0.5, 0.5}) {  // 256.5 has no bfloat16
    set_gradient(weights[0].tensor, value);
    optimizer.collect();
  }
  EXPECT_DOUBLE_EQ(optimizer.grad_norm(), 2 * 257.0);
}

TEST(Optimizer, NormSeesEveryBrokenGradient) {
  for (const double broken : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    auto weights = one(at::kFloat);
    Optimizer optimizer(weights, {});
    weights[0].tensor.mutable_grad().select(0, 1).select(0, 0).fill_(broken);
    EXPECT_FALSE(std::isfinite(optimizer.grad_norm()));
  }
}

TEST(Optimizer, RollBackIsBitEqual) {
  auto weights = one(at::kFloat);
  Optimizer optimizer(weights, {.weight_decay = 0.1});
  const auto step = [&](double value) {
    optimizer.clear_gradients();
    weights[0].tensor.mutable_grad().fill_(value);
    optimizer.step(0.01, optimizer.grad_norm());
  };
  step(1);
  const auto before = values_of(weights[0].tensor);
  optimizer.remember();
  step(-3);
  const auto once = values_of(weights[0].tensor);
  EXPECT_NE(once, before);
  optimizer.roll_back();
  EXPECT_EQ(values_of(weights[0].tensor), before);
  EXPECT_EQ(optimizer.num_steps(), 1U);
  EXPECT_FALSE(optimizer.remembers());
  step(-3);
  EXPECT_EQ(values_of(weights[0].tensor), once);
}

TEST(Optimizer, GradientsKeepTheirMemory) {
  auto weights = one(at::kFloat);
  Optimizer optimizer(weights, {});
  const void* before = weights[0].tensor.grad().const_data_ptr();
  weights[0].tensor.mul(2).sum().backward();
  optimizer.collect();
  EXPECT_EQ(values_of(weights[0].tensor.grad())[0], 2.0F);
  optimizer.step(0.1, optimizer.grad_norm());
  optimizer.clear_gradients();
  EXPECT_EQ(weights[0].tensor.grad().const_data_ptr(), before);
  EXPECT_EQ(values_of(weights[0].tensor.grad())[0], 0.0F);
}
}  // namespace
}  // namespace corisco::trainer
