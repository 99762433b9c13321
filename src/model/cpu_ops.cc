// Embedding, norm, linear and SwiGLU on the CPU, each with its backward.
#include "model/cpu_ops.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_add.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <optional>

#include "model/linear.h"
#include "model/parallel.h"

namespace corisco::model {
namespace {
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using Gradients = torch::autograd::variable_list;
using kernels::table;

bool records() { return at::GradMode::is_enabled(); }

Normed run_norm(const at::Tensor& hidden, const at::Tensor& addend, const at::Tensor& weight, float epsilon,
                at::Tensor* inverse_rms) {
  const std::int64_t rows = hidden.size(0), width = hidden.size(1);
  Normed result{.sum = hidden, .output = at::empty_like(hidden)};
  if (inverse_rms != nullptr) {
    if (addend.defined()) result.sum = at::empty_like(hidden);
    *inverse_rms = at::empty({rows}, at::kFloat);
  }
  const kernels::Norm call{.input = hidden.const_data_ptr(),
                           .addend = addend.defined() ? addend.const_data_ptr() : nullptr,
                           .weight = weight.const_data_ptr(),
                           .sum = addend.defined() ? result.sum.mutable_data_ptr() : nullptr,
                           .output = result.output.mutable_data_ptr(),
                           .inverse_rms = inverse_rms ? inverse_rms->mutable_data_ptr<float>() : nullptr,
                           .width = width,
                           .epsilon = epsilon};
  parallel_ranges(rows, rows * width, [&, norm = table(storage_of(hidden)).norm](auto begin, auto end) {
    norm(call, begin, end);
  });
  return result;
}

// Gradient of the norm's input; the weight's goes to the weight.
at::Tensor run_norm_gradient(const at::Tensor& sum, const at::Tensor& weight, const at::Tensor& inverse_rms,
                             const at::Tensor& output_gradient, const at::Tensor& sum_gradient,
                             at::Tensor& passed_weight_gradient) {
  const std::int64_t rows = sum.size(0), width = sum.size(1);
  at::Tensor input_gradient = at::empty_like(sum);
  at::Tensor gradient_sums = at::zeros({width}, at::kFloat);
  const at::Tensor dy = output_gradient.contiguous();
  const at::Tensor through = sum_gradient.defined() ? sum_gradient.contiguous() : at::Tensor();
  const kernels::NormGradient call{.sum = sum.const_data_ptr(),
                                   .weight = weight.const_data_ptr(),
                                   .inverse_rms = inverse_rms.const_data_ptr<float>(),
                                   .output_gradient = dy.const_data_ptr(),
                                   .sum_gradient = through.defined() ? through.const_data_ptr() : nullptr,
                                   .input_gradient = input_gradient.mutable_data_ptr(),
                                   .weight_gradient = gradient_sums.mutable_data_ptr<float>(),
                                   .num_rows = rows,
                                   .width = width};
  const auto& kernel = table(storage_of(sum));
  parallel_ranges(rows, 2 * rows * width,
                  [&](auto begin, auto end) { kernel.norm_input_gradient(call, begin, end); });
  if (weight.requires_grad()) {
    kernel.norm_weight_gradient(call, 0, width);
    passed_weight_gradient = pass_gradient(weight, gradient_sums.to(weight.scalar_type()));
  }
  return input_gradient;
}

struct NormFunction : Function<NormFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& hidden, const at::Tensor& weight,
                            double epsilon) {
    at::Tensor inverse_rms;
    const Normed result = run_norm(hidden, {}, weight, static_cast<float>(epsilon), &inverse_rms);
    context->save_for_backward({hidden, weight, inverse_rms});
    return result.output;
  }
  static Gradients backward(AutogradContext* context, const Gradients& gradients) {
    const auto saved = context->get_saved_variables();
    at::Tensor weight_part;
    const at::Tensor input = run_norm_gradient(saved[0], saved[1], saved[2], gradients[0], {}, weight_part);
    return {input, weight_part, {}};
  }
};

struct AddNormFunction : Function<AddNormFunction> {
  static Gradients forward(AutogradContext* context, const at::Tensor& hidden, const at::Tensor& addend,
                           const at::Tensor& weight, double epsilon) {
    at::Tensor inverse_rms;
    const Normed result = run_norm(hidden, addend, weight, static_cast<float>(epsilon), &inverse_rms);
    context->save_for_backward({result.sum, weight, inverse_rms});
    context->set_materialize_grads(false);
    return {result.sum, result.output};
  }
  static Gradients backward(AutogradContext* context, const Gradients& gradients) {
    const auto saved = context->get_saved_variables();
    at::Tensor weight_part, input = gradients[0];
    if (gradients[1].defined()) {
      input = run_norm_gradient(saved[0], saved[1], saved[2], gradients[1], gradients[0], weight_part);
    }
    return {input, input, weight_part, {}};
  }
};

struct LinearFunction : Function<LinearFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias,
                            const std::shared_ptr<Products>& products) {
    context->save_for_backward({x, weight, bias.value_or(at::Tensor())});
    return (*products)(x, weight, bias.value_or(at::Tensor()));
  }
  static Gradients backward(AutogradContext* context, const Gradients& gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1], &bias = saved[2];
    const at::Tensor dy = gradients[0].contiguous();
    at::Tensor input_part, weight_part, bias_part;
    if (context->needs_input_grad(0)) input_part = at::mm(dy, weight);
    if (weight.requires_grad()) weight_part = weight_gradient(weight, dy, x);
    if (bias.defined() && bias.requires_grad()) bias_part = pass_gradient(bias, at::sum(dy, 0));
    return {input_part, weight_part, bias_part, {}};
  }
};

at::Tensor run_swiglu(const at::Tensor& gate_up) {
  const std::int64_t rows = gate_up.size(0), width = gate_up.size(1) / 2;
  at::Tensor result = at::empty({rows, width}, gate_up.options());
  parallel_ranges(rows, 8 * rows * width,
                  [&, kernel = table(storage_of(gate_up)).swiglu](auto begin, auto end) {
                    kernel(gate_up.const_data_ptr(), result.mutable_data_ptr(), width, begin, end);
                  });
  return result;
}

struct SwigluFunction : Function<SwigluFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gate_up) {
    context->save_for_backward({gate_up});
    return run_swiglu(gate_up);
  }
  static Gradients backward(AutogradContext* context, const Gradients& gradients) {
    const at::Tensor gate_up = context->get_saved_variables()[0], dy = gradients[0].contiguous();
    at::Tensor result = at::empty_like(gate_up);
    const std::int64_t rows = gate_up.size(0), width = gate_up.size(1) / 2;
    const auto kernel = table(storage_of(gate_up)).swiglu_gradient;
    parallel_ranges(rows, 8 * rows * width, [&](auto begin, auto end) {
      kernel(gate_up.const_data_ptr(), dy.const_data_ptr(), result.mutable_data_ptr(), width, begin, end);
    });
    return {result};
  }
};

// Only the rows that were looked up are touched.
struct EmbedFunction : Function<EmbedFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& weight, const at::Tensor& ids) {
    context->save_for_backward({weight, ids});
    return at::index_select(weight, 0, ids);
  }
  static Gradients backward(AutogradContext* context, const Gradients& gradients) {
    const auto saved = context->get_saved_variables();
    at::Tensor& sum = saved[0].mutable_grad();
    if (saved[0].is_leaf() && sum.defined()) {
      sum.index_add_(0, saved[1], gradients[0]);
      return {{}, {}};
    }
    at::Tensor dense = at::zeros_like(saved[0]);
    dense.index_add_(0, saved[1], gradients[0]);
    return {pass_gradient(saved[0], dense), {}};
  }
};

class CpuOps final : public Ops {
 public:
  explicit CpuOps(OpsOptions options)
      : options_(std::move(options)), products_(std::make_shared<Products>(options_.tile_rows)) {}

  std::shared_ptr<Pass> begin(const ForwardInput& input) const override {
    auto pass = std::make_shared<CpuPass>();
    pass->plan = input.attention;
    pass->angles = rope_angles(options_.rope, input.positions);
    pass->slots = input.slots;
    for (std::size_t t = 0; t < input.token_ids.size(); ++t) {
      std::int64_t keys = 0;
      for (std::int32_t s = pass->plan.begin[t]; s < pass->plan.begin[t + 1]; ++s) {
        keys += pass->plan.spans[static_cast<std::size_t>(s)].length;
      }
      pass->num_keys += keys;
      pass->row_keys_max = std::max(pass->row_keys_max, keys);
    }
    return pass;
  }

  void refresh(const at::Tensor& weight) const override { products_->refresh(weight); }

  at::Tensor embed(const at::Tensor& weight, const std::vector<std::int64_t>& ids) const override {
    at::Tensor rows = at::empty({static_cast<std::int64_t>(ids.size())}, at::kLong);
    std::copy(ids.begin(), ids.end(), rows.mutable_data_ptr<std::int64_t>());
    return records() ? EmbedFunction::apply(weight, rows) : at::index_select(weight, 0, rows);
  }

  Normed norm(const at::Tensor& hidden, const at::Tensor& addend, const at::Tensor& weight) const override {
    if (!records()) return run_norm(hidden, addend, weight, options_.norm_epsilon, nullptr);
    const double epsilon = options_.norm_epsilon;
    if (!addend.defined()) return {.sum = hidden, .output = NormFunction::apply(hidden, weight, epsilon)};
    const Gradients both = AddNormFunction::apply(hidden, addend, weight, epsilon);
    return {.sum = both[0], .output = both[1]};
  }

  at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) const override {
    if (!records()) return (*products_)(x, weight, bias);
    const auto optional_bias = bias.defined() ? std::optional<at::Tensor>(bias) : std::nullopt;
    return LinearFunction::apply(x, weight, optional_bias, products_);
  }

  at::Tensor attention(const at::Tensor& qkv, const std::shared_ptr<Pass>& pass, KvStore* cache,
                       std::size_t layer) const override {
    return cpu_attention(options_.heads, qkv, std::static_pointer_cast<CpuPass>(pass), cache, layer);
  }

  at::Tensor swiglu(const at::Tensor& gate_up) const override {
    return records() ? SwigluFunction::apply(gate_up) : run_swiglu(gate_up);
  }

  at::Tensor selected_logprobs(const at::Tensor& hidden, const at::Tensor& head,
                               const std::vector<std::int64_t>& targets, float temperature) const override {
    return cpu_selected_logprobs(products_, hidden, head, targets, temperature);
  }

 private:
  const OpsOptions options_;
  const std::shared_ptr<Products> products_;  // shared with the backwards that compute logits again
};
}  // namespace

std::unique_ptr<Ops> make_cpu_ops(OpsOptions options) { return std::make_unique<CpuOps>(std::move(options)); }
}  // namespace corisco::model
