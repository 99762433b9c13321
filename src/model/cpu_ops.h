// The CPU's operations: our kernels. Internal to the model.
#pragma once
#include "model/kernels/table.h"
#include "model/linear.h"
#include "model/ops.h"

namespace corisco::model {
// The plan is copied: the backward needs it after the input is gone.
struct CpuPass final : Pass {
  AttentionPlan plan;
  RopeAngles angles;
  std::vector<std::int64_t> slots;
  std::int64_t num_keys = 0;  // over all rows
  std::int64_t row_keys_max = 0;
};

inline kernels::Storage storage_of(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kBFloat16 ? kernels::Storage::bfloat16 : kernels::Storage::float32;
}

// Attention with its autograd; see Ops::attention.
at::Tensor cpu_attention(const HeadShape& heads, const at::Tensor& qkv, const std::shared_ptr<CpuPass>& pass,
                         KvStore* cache, std::size_t layer);
// See Ops::selected_logprobs.
at::Tensor cpu_selected_logprobs(const std::shared_ptr<Products>& products, const at::Tensor& hidden,
                                 const at::Tensor& head, const std::vector<std::int64_t>& targets,
                                 float temperature);
}  // namespace corisco::model
