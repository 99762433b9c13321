// Embedding, norm, linear and SwiGLU on the CPU, each with its backward.
#include "model/cpu_ops.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_add.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"
#include "model/linear.h"
#include "model/parallel.h"
#include "model/recorded.h"
#include "model/window.h"

namespace corisco::model {
namespace {
using kernels::table;

bool records() { return at::GradMode::is_enabled(); }

Normed run_norm(const at::Tensor& hidden, const at::Tensor& addend, const at::Tensor& weight, const NormRule& norm,
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
                           .epsilon = norm.epsilon,
                           .weight_offset = norm.offset};
  parallel_ranges(rows, rows * width, [&, kernel = table(storage_of(hidden)).norm](auto begin, auto end) {
    kernel(call, begin, end);
  });
  return result;
}

// Gradient of the norm's input; the weight's goes to the weight.
at::Tensor run_norm_gradient(const at::Tensor& sum, const at::Tensor& weight, const at::Tensor& inverse_rms,
                             const at::Tensor& output_gradient, const at::Tensor& sum_gradient, float offset,
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
                                   .width = width,
                                   .weight_offset = offset};
  const auto& kernel = table(storage_of(sum));
  parallel_ranges(rows, 2 * rows * width,
                  [&](auto begin, auto end) { kernel.norm_input_gradient(call, begin, end); });
  if (weight.requires_grad()) {
    kernel.norm_weight_gradient(call, 0, width);
    passed_weight_gradient = pass_gradient(weight, gradient_sums.to(weight.scalar_type()));
  }
  return input_gradient;
}

Recorded record_norm(const at::Tensor& hidden, const at::Tensor& weight, const NormRule& norm) {
  at::Tensor inverse_rms;
  const Normed result = run_norm(hidden, {}, weight, norm, &inverse_rms);
  return {.outputs = {result.output},
          .saved = {hidden, weight, inverse_rms},
          .backward = [offset = norm.offset](const Tensors& saved, const Tensors& gradients) -> Tensors {
            at::Tensor weight_part;
            const at::Tensor input =
                run_norm_gradient(saved[0], saved[1], saved[2], gradients[0], {}, offset, weight_part);
            return {input, weight_part};
          }};
}

Recorded record_add_norm(const at::Tensor& hidden, const at::Tensor& addend, const at::Tensor& weight,
                         const NormRule& norm) {
  at::Tensor inverse_rms;
  const Normed result = run_norm(hidden, addend, weight, norm, &inverse_rms);
  return {.outputs = {result.sum, result.output},
          .saved = {result.sum, weight, inverse_rms},
          .backward = [offset = norm.offset](const Tensors& saved, const Tensors& gradients) -> Tensors {
            at::Tensor weight_part, input = gradients[0];
            if (gradients[1].defined()) {
              input = run_norm_gradient(saved[0], saved[1], saved[2], gradients[1], gradients[0], offset,
                                        weight_part);
            }
            return {input, input, weight_part};
          }};
}

Tensors linear_backward(const Tensors& saved, const Tensors& gradients) {
  const at::Tensor &x = saved[0], &weight = saved[1], &bias = saved[2];
  const at::Tensor dy = gradients[0].contiguous();
  at::Tensor input_part, weight_part, bias_part;
  if (x.requires_grad()) input_part = plain_product(dy, weight);
  if (weight.requires_grad()) weight_part = weight_gradient(weight, dy, x);
  if (!bias.defined()) return {input_part, weight_part};
  if (bias.requires_grad()) bias_part = pass_gradient(bias, at::sum(dy, 0));
  return {input_part, weight_part, bias_part};
}

at::Tensor run_swiglu(const at::Tensor& gate_up) {
  const std::int64_t rows = gate_up.size(0), width = gate_up.size(1) / 2;
  at::Tensor result = at::empty({rows, width}, gate_up.options());
  parallel_ranges(rows, 8 * rows * width,
                  [&, kernel = table(storage_of(gate_up)).swiglu](auto begin, auto end) {
                    kernel(gate_up.const_data_ptr(), result.mutable_data_ptr(), width, begin, end);
                  });
  return result;
}

Tensors swiglu_backward(const Tensors& saved, const Tensors& gradients) {
  const at::Tensor &gate_up = saved[0], dy = gradients[0].contiguous();
  at::Tensor result = at::empty_like(gate_up);
  const std::int64_t rows = gate_up.size(0), width = gate_up.size(1) / 2;
  const auto kernel = table(storage_of(gate_up)).swiglu_gradient;
  parallel_ranges(rows, 8 * rows * width, [&](auto begin, auto end) {
    kernel(gate_up.const_data_ptr(), dy.const_data_ptr(), result.mutable_data_ptr(), width, begin, end);
  });
  return {result};
}

// Only the rows that were looked up are touched.
Tensors embed_backward(const Tensors& saved, const Tensors& gradients) {
  const at::Tensor &weight = saved[0], &ids = saved[1];
  at::Tensor& sum = weight.mutable_grad();
  if (weight.is_leaf() && sum.defined()) {
    sum.index_add_(0, ids, gradients[0]);
    return {at::Tensor()};
  }
  at::Tensor dense = at::zeros_like(weight);
  dense.index_add_(0, ids, gradients[0]);
  return {pass_gradient(weight, dense)};
}

class CpuOps final : public Ops {
 public:
  explicit CpuOps(OpsOptions options)
      : options_(std::move(options)), products_(std::make_shared<Products>(options_.tile_rows)) {}

  std::shared_ptr<Pass> begin(const ForwardInput& input) const override {
    auto pass = std::make_shared<CpuPass>(input.attention);
    if (options_.sliding_window > 0) {
      pass->last.emplace(last_keys(input.attention, options_.sliding_window), input.positions);
    }
    pass->angles = rope_angles(options_.rope, input.positions);
    pass->slots = input.slots;
    if (options_.delta.exists()) {
      pass->segments = input.cache != nullptr ? segments_of(input.states, input.positions)
                                              : segments_of(input.attention, kSegmentRowsMax);
    }
    return pass;
  }

  void refresh(const at::Tensor& weight) const override { products_->refresh(weight); }

  at::Tensor embed(const at::Tensor& weight, const std::vector<std::int64_t>& ids) const override {
    at::Tensor rows = at::empty({static_cast<std::int64_t>(ids.size())}, at::kLong);
    std::copy(ids.begin(), ids.end(), rows.mutable_data_ptr<std::int64_t>());
    if (!records()) return at::index_select(weight, 0, rows);
    return record({weight}, [&]() -> Recorded {
      return {{at::index_select(weight, 0, rows)}, {weight, rows}, embed_backward};
    })[0];
  }

  Normed norm(const at::Tensor& hidden, const at::Tensor& addend, const at::Tensor& weight) const override {
    const NormRule rule = norm_rule();
    if (!records()) return run_norm(hidden, addend, weight, rule, nullptr);
    if (!addend.defined()) {
      const Tensors one = record({hidden, weight}, [&] { return record_norm(hidden, weight, rule); });
      return {.sum = hidden, .output = one[0]};
    }
    const Tensors both =
        record({hidden, addend, weight}, [&] { return record_add_norm(hidden, addend, weight, rule); });
    return {.sum = both[0], .output = both[1]};
  }

  at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) const override {
    if (!records()) return (*products_)(x, weight, bias);
    Tensors inputs{x, weight};
    if (bias.defined()) inputs.push_back(bias);
    return record(inputs, [&]() -> Recorded {
      return {{(*products_)(x, weight, bias)}, {x, weight, bias}, linear_backward};
    })[0];
  }

  at::Tensor logits(const at::Tensor& hidden, const at::Tensor& head) const override {
    return products_->wide(hidden, head);
  }

  at::Tensor norm_heads(const at::Tensor& qkv, const at::Tensor& query_weight,
                        const at::Tensor& key_weight) const override {
    return cpu_norm_heads(options_.heads, norm_rule(), qkv, query_weight, key_weight);
  }

  at::Tensor attention(const at::Tensor& qkv, const std::shared_ptr<Pass>& pass, KvStore* cache,
                       const AttentionLayer& layer) const override {
    return cpu_attention(options_.heads, qkv, std::static_pointer_cast<CpuPass>(pass), cache, layer);
  }

  at::Tensor delta_net(const at::Tensor& projected, const DeltaLayer& layer, const std::shared_ptr<Pass>& pass,
                       KvStore* cache) const override {
    return cpu_delta_net(options_.delta, options_.norm_epsilon, projected, layer,
                         std::static_pointer_cast<CpuPass>(pass), cache);
  }

  at::Tensor gated(const at::Tensor& x, const at::Tensor& gate) const override { return cpu_gated(x, gate); }

  at::Tensor swiglu(const at::Tensor& gate_up) const override {
    if (!records()) return run_swiglu(gate_up);
    return record({gate_up}, [&]() -> Recorded {
      return {{run_swiglu(gate_up)}, {gate_up}, swiglu_backward};
    })[0];
  }

  at::Tensor selected_logprobs(const at::Tensor& hidden, const at::Tensor& head,
                               const std::vector<std::int64_t>& targets, float temperature) const override {
    return cpu_selected_logprobs(products_, hidden, head, targets, temperature);
  }

 private:
  NormRule norm_rule() const { return {.epsilon = options_.norm_epsilon, .offset = options_.norm_offset}; }

  const OpsOptions options_;
  const std::shared_ptr<Products> products_;  // shared with the backwards that compute logits again
};
}  // namespace

PlannedKeys::PlannedKeys(AttentionPlan given) : plan(std::move(given)), follows(rows_that_follow(plan)) {
  for (std::size_t t = 0; t + 1 < plan.begin.size(); ++t) {
    const std::int64_t keys = count_keys(plan, t);
    num_keys += keys;
    row_keys_max = std::max(row_keys_max, keys);
  }
}

PlannedKeys::PlannedKeys(AttentionPlan given, const std::vector<std::int64_t>& positions)
    : PlannedKeys(std::move(given)) {
  for (std::size_t t = 0; t < positions.size(); ++t) {
    const std::int64_t keys = count_keys(plan, t), first = positions[t] + 1 - keys;
    CORISCO_ASSERT(first >= 0, cat("a row at position ", positions[t], " with ", keys, " keys"));
    first_keys.push_back(static_cast<std::int32_t>(first));
  }
}

std::unique_ptr<Ops> make_cpu_ops(OpsOptions options) { return std::make_unique<CpuOps>(std::move(options)); }
}  // namespace corisco::model
