#include "model/recorded.h"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <utility>

namespace corisco::model {
namespace {
using torch::autograd::AutogradContext;

struct Backward : torch::CustomClassHolder {
  explicit Backward(decltype(Recorded::backward) given) : run(std::move(given)) {}
  const decltype(Recorded::backward) run;
};

struct Operation : torch::autograd::Function<Operation> {
  static Tensors forward(AutogradContext* context, const at::TensorList& /*inputs*/,
                         const std::function<Recorded()>& run) {
    Recorded recorded = run();
    context->save_for_backward(std::move(recorded.saved));
    context->set_materialize_grads(false);
    context->saved_data["backward"] =
        c10::IValue::make_capsule(c10::make_intrusive<Backward>(std::move(recorded.backward)));
    return std::move(recorded.outputs);
  }
  static Tensors backward(AutogradContext* context, const Tensors& gradients) {
    const auto capsule = context->saved_data["backward"].toCapsule();
    Tensors result =
        static_cast<const Backward*>(capsule.get())->run(context->get_saved_variables(), gradients);
    result.emplace_back();  // of `run`
    return result;
  }
};
}  // namespace

Tensors record(const Tensors& inputs, const std::function<Recorded()>& forward) {
  return Operation::apply(at::TensorList(inputs), forward);
}
}  // namespace corisco::model
