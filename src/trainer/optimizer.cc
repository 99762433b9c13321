#include "trainer/optimizer.h"

#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include <cmath>
#include <optional>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"

namespace corisco::trainer {
namespace {
at::Tensor zeros_for(const at::Tensor& tensor) {
  return at::zeros_like(tensor, tensor.options().dtype(at::kFloat).requires_grad(false));
}
}  // namespace

Optimizer::Optimizer(std::vector<model::NamedTensor> parameters, const OptimizerOptions& options)
    : options_(options) {
  for (auto& [name, weight] : parameters) {
    CORISCO_ASSERT(weight.is_leaf() && !weight.is_inference(),
                   cat(name, " is not a leaf that can be trained"));
    weight.set_requires_grad(true);
    Slot slot;
    slot.name = name;
    slot.weight = weight;
    const bool is_master = weight.scalar_type() == at::kFloat;
    slot.master = is_master ? weight.detach() : weight.detach().to(at::kFloat);
    slot.gradient = zeros_for(weight);
    if (is_master) weight.mutable_grad() = slot.gradient;
    slot.first_moment = zeros_for(weight);
    slot.second_moment = zeros_for(weight);
    slots_.push_back(std::move(slot));
  }
}

void Optimizer::collect() {
  const c10::NoGradGuard no_grad;
  for (auto& slot : slots_) {
    at::Tensor& gradient = slot.weight.mutable_grad();
    if (!slot.has_master()) {
      CORISCO_ASSERT(gradient.is_alias_of(slot.gradient),
                     cat("the gradient of ", slot.name, " was replaced"));
      continue;
    }
    if (!gradient.defined()) continue;
    slot.gradient.add_(gradient);
    gradient.reset();
  }
}

void Optimizer::clear_gradients() {
  const c10::NoGradGuard no_grad;
  for (auto& slot : slots_) {
    slot.gradient.zero_();
    if (slot.has_master()) slot.weight.mutable_grad().reset();  // what a stopped backward left
  }
}

double Optimizer::grad_norm() const {
  const c10::NoGradGuard no_grad;
  double squares = 0;
  for (const auto& slot : slots_) {
    const auto norm = at::linalg_vector_norm(slot.gradient).item<double>();
    squares += norm * norm;
  }
  return std::sqrt(squares);
}

void Optimizer::step(double learning_rate, double norm) {
  CORISCO_ASSERT(std::isfinite(norm), cat("gradient norm ", norm));
  const c10::NoGradGuard no_grad;
  ++num_steps_;
  step_slots(true, learning_rate, norm);
  step_slots(false, learning_rate, norm);
  for (auto& slot : slots_)
    if (slot.has_master()) slot.weight.copy_(slot.master);
}

void Optimizer::step_slots(bool decaying, double learning_rate, double norm) {
  std::vector<at::Tensor> masters, gradients, first_moments, second_moments, steps;
  for (auto& slot : slots_) {
    if (slot.decays() != decaying) continue;
    masters.push_back(slot.master);
    gradients.push_back(slot.gradient);
    first_moments.push_back(slot.first_moment);
    second_moments.push_back(slot.second_moment);
    steps.push_back(at::full({}, static_cast<double>(num_steps_), slot.gradient.options()));
  }
  if (masters.empty()) return;
  std::optional<at::Tensor> divisor;
  if (options_.grad_norm_max > 0 && norm > options_.grad_norm_max)
    divisor = at::full({}, norm / options_.grad_norm_max, gradients[0].options());
  at::_fused_adamw_(masters, gradients, first_moments, second_moments, {}, steps, learning_rate,
                    options_.beta1, options_.beta2, decaying ? options_.weight_decay : 0, options_.epsilon,
                    /*amsgrad=*/false, /*maximize=*/false, divisor);
}

void Optimizer::remember() {
  const c10::NoGradGuard no_grad;
  memory_.clear();
  for (const auto& slot : slots_)
    for (const auto& tensor : {slot.master, slot.first_moment, slot.second_moment})
      memory_.push_back(tensor.clone());
  memory_steps_ = num_steps_;
}

void Optimizer::roll_back() {
  CORISCO_ASSERT(remembers(), cat("nothing to roll back to at step ", num_steps_));
  const c10::NoGradGuard no_grad;
  std::size_t next = 0;
  for (auto& slot : slots_) {
    for (auto tensor : {slot.master, slot.first_moment, slot.second_moment}) tensor.copy_(memory_[next++]);
    if (slot.has_master()) slot.weight.copy_(slot.master);
  }
  num_steps_ = memory_steps_;
  forget();
}

std::vector<model::NamedTensor> Optimizer::state() const {
  std::vector<model::NamedTensor> tensors;
  for (const auto& slot : slots_) {
    if (slot.has_master()) tensors.push_back({"master." + slot.name, slot.master});
    tensors.push_back({"first_moment." + slot.name, slot.first_moment});
    tensors.push_back({"second_moment." + slot.name, slot.second_moment});
  }
  return tensors;
}
}  // namespace corisco::trainer
