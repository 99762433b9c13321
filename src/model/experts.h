// The MLP of a layer whose tokens choose among experts: a router, its choice or a replayed one, each
// expert's own tokens through it, and the weighted sum; beside it the expert that every token goes to. On any
// device, over one kind's operations.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "model/ops.h"
#include "model/weights.h"

namespace corisco::model {
// What the passes' replayed_experts and used_experts hold for one layer. Rows lie `stride` apart.
struct LayerRouting {
  const ExpertId* replayed = nullptr;  // null: the router chooses for every row
  ExpertId* used = nullptr;            // or null
  std::size_t stride = 0;
  std::uint64_t* num_rerouted = nullptr;  // as the pass's
};

// x [T, H] -> [T, H]. A row's result depends on that row alone wherever the operations' linear keeps
// that promise. Gradients reach the router through the weights of the chosen experts.
at::Tensor mix_experts(const Ops& ops, const DecoderConfig& config, const LayerWeights& weights, const at::Tensor& x,
                       const LayerRouting& routing);

// Which rows go to which expert: their places among [T, k] by expert, in order within each.
struct ExpertRows {
  std::vector<std::int64_t> places;   // [T k]: row * k + choice
  std::vector<std::int64_t> experts;  // those with any row, ascending
  std::vector<std::int64_t> counts;   // of each of them
};
ExpertRows group_by_expert(const std::vector<std::int64_t>& ids, std::int64_t num_experts);
}  // namespace corisco::model
