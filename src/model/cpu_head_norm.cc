// The RMS norm of each query and key head on the CPU, by the kernel of the layers' norms: the rows of a
// token's heads lie side by side.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <array>

#include "model/cpu_ops.h"
#include "model/parallel.h"
#include "model/recorded.h"

namespace corisco::model {
namespace {
using kernels::table;

// The heads that share a weight, in every row of qkv.
struct Part {
  std::int64_t first_head, num_heads;
};
std::array<Part, 2> parts_of(const HeadShape& heads) {
  return {{{0, heads.num_heads}, {heads.num_heads, heads.num_kv_heads}}};
}

char* head_at(const at::Tensor& qkv, std::int64_t row, std::int64_t head, std::int64_t head_dim) {
  const std::int64_t element = row * qkv.size(1) + head * head_dim;
  return static_cast<char*>(qkv.mutable_data_ptr()) + element * qkv.element_size();
}

// In place. inverse_rms [T, Hq + Hkv], or undefined where no backward follows.
void run_norms(const HeadShape& heads, const NormRule& norm, const at::Tensor& qkv,
               const std::array<at::Tensor, 2>& weights, const at::Tensor& inverse_rms) {
  const auto parts = parts_of(heads);
  const auto kernel = table(storage_of(qkv)).norm;
  const std::int64_t all_heads = heads.num_heads + heads.num_kv_heads;
  parallel_ranges(qkv.size(0), qkv.size(0) * all_heads * heads.head_dim, [&](auto begin, auto end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::size_t i = 0; i < parts.size(); ++i) {
        char* data = head_at(qkv, row, parts[i].first_head, heads.head_dim);
        float* scales = inverse_rms.defined() ? inverse_rms.mutable_data_ptr<float>() + row * all_heads +
                                                    parts[i].first_head
                                              : nullptr;
        kernel({.input = data,
                .weight = weights[i].const_data_ptr(),
                .output = data,
                .inverse_rms = scales,
                .width = heads.head_dim,
                .epsilon = norm.epsilon,
                .weight_offset = norm.offset},
               0, parts[i].num_heads);
      }
    }
  });
}

// `passed` holds the gradient of the result and becomes that of qkv; the values' part stays as it is.
// Weight gradients are added up row after row.
void run_gradient(const HeadShape& heads, float offset, const Tensors& saved, const at::Tensor& gradient,
                  const at::Tensor& passed, std::array<at::Tensor, 2>& weight_sums) {
  const at::Tensor &qkv = saved[0], &inverse_rms = saved[3];
  const auto parts = parts_of(heads);
  const auto& kernel = table(storage_of(qkv));
  for (std::size_t i = 0; i < parts.size(); ++i) weight_sums[i] = at::zeros({heads.head_dim}, at::kFloat);
  for (std::int64_t row = 0; row < qkv.size(0); ++row) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::int64_t head = parts[i].first_head;
      const kernels::NormGradient call{
          .sum = head_at(qkv, row, head, heads.head_dim),
          .weight = saved[i + 1].const_data_ptr(),
          .inverse_rms = inverse_rms.const_data_ptr<float>() + row * inverse_rms.size(1) + head,
          .output_gradient = head_at(gradient, row, head, heads.head_dim),
          .input_gradient = head_at(passed, row, head, heads.head_dim),
          .weight_gradient = weight_sums[i].mutable_data_ptr<float>(),
          .num_rows = parts[i].num_heads,
          .width = heads.head_dim,
          .weight_offset = offset};
      kernel.norm_weight_gradient(call, 0, heads.head_dim);
      kernel.norm_input_gradient(call, 0, parts[i].num_heads);
    }
  }
}

Tensors norms_backward(const HeadShape& heads, float offset, const Tensors& saved, const Tensors& gradients) {
  const at::Tensor gradient = gradients[0].contiguous();
  const at::Tensor passed = gradient.clone();
  std::array<at::Tensor, 2> sums;
  run_gradient(heads, offset, saved, gradient, passed, sums);
  Tensors result{passed};
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const at::Tensor& weight = saved[i + 1];
    result.push_back(weight.requires_grad() ? pass_gradient(weight, sums[i].to(weight.scalar_type())) : at::Tensor());
  }
  return result;
}
}  // namespace

at::Tensor cpu_norm_heads(const HeadShape& heads, const NormRule& norm, const at::Tensor& qkv,
                          const at::Tensor& query_weight, const at::Tensor& key_weight) {
  if (!at::GradMode::is_enabled()) {
    run_norms(heads, norm, qkv, {query_weight, key_weight}, {});
    return qkv;
  }
  return record({qkv, query_weight, key_weight}, [&]() -> Recorded {
    const at::Tensor inverse_rms = at::empty({qkv.size(0), heads.num_heads + heads.num_kv_heads}, at::kFloat);
    const at::Tensor output = qkv.clone();
    run_norms(heads, norm, output, {query_weight, key_weight}, inverse_rms);
    return {.outputs = {output},
            .saved = {qkv, query_weight, key_weight, inverse_rms},
            .backward = [heads, offset = norm.offset](const Tensors& saved, const Tensors& gradients) {
              return norms_backward(heads, offset, saved, gradients);
            }};
  })[0];
}
}  // namespace corisco::model
