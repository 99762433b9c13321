// x times the sigmoid of a gate on the CPU, with its backward.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>

#include "model/cpu_ops.h"
#include "model/parallel.h"
#include "model/recorded.h"

namespace corisco::model {
namespace {
kernels::SigmoidGate gate_call(const at::Tensor& x, const at::Tensor& gate) {
  return {.x = x.const_data_ptr(), .gate = gate.const_data_ptr(), .width = x.size(1), .gate_width = gate.size(1)};
}

at::Tensor run_gate(const at::Tensor& x, const at::Tensor& gate) {
  at::Tensor output = at::empty_like(x);
  kernels::SigmoidGate call = gate_call(x, gate);
  call.output = output.mutable_data_ptr();
  const auto kernel = kernels::table(storage_of(x)).gate;
  parallel_ranges(x.size(0), 8 * x.numel(), [&](auto begin, auto end) { kernel(call, begin, end); });
  return output;
}

Tensors gate_backward(const Tensors& saved, const Tensors& gradients) {
  const at::Tensor &x = saved[0], &gate = saved[1], dy = gradients[0].contiguous();
  at::Tensor x_gradient = at::empty_like(x), gate_gradient = at::empty_like(gate);
  const kernels::SigmoidGate call = gate_call(x, gate);
  const auto kernel = kernels::table(storage_of(x)).gate_gradient;
  parallel_ranges(x.size(0), 8 * x.numel(), [&](auto begin, auto end) {
    kernel(call, dy.const_data_ptr(), x_gradient.mutable_data_ptr(), gate_gradient.mutable_data_ptr(), begin, end);
  });
  return {x_gradient, gate_gradient};
}
}  // namespace

at::Tensor cpu_gated(const at::Tensor& x, const at::Tensor& gate) {
  const at::Tensor rows = x.contiguous(), gates = gate.contiguous();
  if (!at::GradMode::is_enabled()) return run_gate(rows, gates);
  return record({rows, gates}, [&]() -> Recorded {
    return {{run_gate(rows, gates)}, {rows, gates}, gate_backward};
  })[0];
}
}  // namespace corisco::model
