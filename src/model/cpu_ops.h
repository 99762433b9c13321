// The CPU's operations: our kernels. Internal to the model.
#pragma once
#include <optional>

#include "model/kernels/table.h"
#include "model/linear.h"
#include "model/ops.h"
#include "model/row_segments.h"

namespace corisco::model {
// How every norm is taken; offset: added to its weight.
struct NormRule {
  float epsilon = 0, offset = 0;
};

constexpr std::int64_t kSegmentRowsMax = 32;  // rows whose memories a backward holds at a time

// A plan and what its loops need to know beforehand. Copied: the backward needs it after the input is gone.
struct PlannedKeys {
  explicit PlannedKeys(AttentionPlan given);
  // Of layers that slide: rows at these positions, whose keys end there.
  PlannedKeys(AttentionPlan given, const std::vector<std::int64_t>& positions);
  AttentionPlan plan;
  std::int64_t num_keys = 0;  // over all rows
  std::int64_t row_keys_max = 0;
  std::vector<bool> follows;             // rows_that_follow
  std::vector<std::int32_t> first_keys;  // positions of the rows' first keys; empty: all 0
};

struct CpuPass final : Pass {
  explicit CpuPass(const AttentionPlan& plan) : all(plan) {}
  PlannedKeys all;
  std::optional<PlannedKeys> last;  // of the layers that slide
  RowSegments segments;             // for recurrent layers
  RopeAngles angles;
  std::vector<std::int64_t> slots;
  const PlannedKeys& keys(bool is_sliding) const { return is_sliding ? *last : all; }
};

inline kernels::Storage storage_of(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kBFloat16 ? kernels::Storage::bfloat16 : kernels::Storage::float32;
}

// Attention with its autograd; see Ops::attention.
at::Tensor cpu_attention(const HeadShape& heads, const at::Tensor& qkv, const std::shared_ptr<CpuPass>& pass,
                         KvStore* cache, const AttentionLayer& layer);
// See Ops::norm_heads.
at::Tensor cpu_norm_heads(const HeadShape& heads, const NormRule& norm, const at::Tensor& qkv,
                          const at::Tensor& query_weight, const at::Tensor& key_weight);
// See Ops::delta_net.
at::Tensor cpu_delta_net(const DeltaShape& shape, float epsilon, const at::Tensor& projected,
                         const DeltaLayer& layer, const std::shared_ptr<CpuPass>& pass, KvStore* cache);
// See Ops::gated.
at::Tensor cpu_gated(const at::Tensor& x, const at::Tensor& gate);
// See Ops::selected_logprobs.
at::Tensor cpu_selected_logprobs(const std::shared_ptr<Products>& products, const at::Tensor& hidden,
                                 const at::Tensor& head, const std::vector<std::int64_t>& targets,
                                 float temperature);
}  // namespace corisco::model
