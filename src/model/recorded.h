// Operations with a backward of our own: the one door to torch's autograd functions, whose header
// costs ten seconds of compiling. Internal to the model.
#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace corisco::model {
using Tensors = std::vector<at::Tensor>;

// What the forward of an operation leaves. Tensors that the backward needs go into `saved`, not into
// the closure: there an output would hold itself.
struct Recorded {
  Tensors outputs, saved;
  // From saved and one gradient per output (undefined where nothing depends on it) to one gradient
  // per input (undefined where none is wanted, or where it went to the parameter itself).
  std::function<Tensors(const Tensors& saved, const Tensors& gradients)> backward;
};

// Runs forward without recording and hangs its backward between inputs and outputs. Inputs are defined.
Tensors record(const Tensors& inputs, const std::function<Recorded()>& forward);
}  // namespace corisco::model
