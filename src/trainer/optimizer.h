// AdamW over float32 masters (Loshchilov & Hutter 2019), with the gradients' accumulators.
// Owned by the trainer on the device thread. Writes weights only in step() and roll_back(), never
// between a forward and its backward. 12 bytes a parameter for gradients and moments, 4 more for
// masters of 16-bit weights, and 12 more while an update with several epochs can be rolled back.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "corisco/model/decoder.h"

namespace corisco::trainer {
struct OptimizerOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0;   // not on norms and biases: tensors of one dimension
  double grad_norm_max = 1;  // 0: never scaled down
};

class Optimizer {
 public:
  Optimizer(std::vector<model::NamedTensor> parameters, const OptimizerOptions& options);

  // After each backward: adds 16-bit gradients to float32 accumulators. Float32 ones are
  // accumulated by autograd itself, in buffers that are kept from update to update.
  void collect();
  void clear_gradients();
  // Over all parameters; not finite if any gradient is not.
  double grad_norm() const;
  // Scales by grad_norm_max / norm where norm, grad_norm()'s result, is above it; then AdamW.
  void step(double learning_rate, double norm);

  // What an update with several steps goes back to when a later step cannot be taken.
  void remember();
  bool remembers() const { return !memory_.empty(); }
  void roll_back();
  void forget() { memory_.clear(); }

  std::uint64_t num_steps() const { return num_steps_; }
  // "first_moment.NAME", "second_moment.NAME", and "master.NAME" for 16-bit weights. Aliases: a
  // checkpoint is restored by writing into them, then calling set_restored().
  std::vector<model::NamedTensor> state() const;
  void set_restored(std::uint64_t num_steps) { num_steps_ = num_steps; }

 private:
  struct Slot {
    std::string name;
    at::Tensor weight;    // the model's leaf
    at::Tensor master;    // float32; shares the weight's storage if that is float32
    at::Tensor gradient;  // float32 accumulator; the leaf's own .grad if that is float32
    at::Tensor first_moment, second_moment;
    bool has_master() const { return !master.is_alias_of(weight); }
    bool decays() const { return weight.dim() > 1; }
  };
  void step_slots(bool decaying, double learning_rate, double norm);

  OptimizerOptions options_;  // constant
  std::vector<Slot> slots_;
  std::vector<at::Tensor> memory_;  // master, first and second moment of each slot
  std::uint64_t memory_steps_ = 0;
  std::uint64_t num_steps_ = 0;
};
}  // namespace corisco::trainer
