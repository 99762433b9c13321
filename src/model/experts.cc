#include "model/experts.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/split_with_sizes.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/topk.h>
#include <ATen/ops/unbind.h>

#include <algorithm>
#include <tuple>

namespace corisco::model {
namespace {
std::vector<std::int64_t> to_numbers(const at::Tensor& ids) {
  const at::Tensor host = ids.cpu().contiguous();
  const auto* first = host.const_data_ptr<std::int64_t>();
  return {first, first + host.numel()};
}

// Of the wanted experts, those that are not among the chosen.
std::uint64_t num_missing(const ExpertId* wanted, const std::int64_t* chosen, std::size_t count) {
  const auto is_missing = [&](ExpertId id) { return std::find(chosen, chosen + count, id) == chosen + count; };
  return static_cast<std::uint64_t>(std::count_if(wanted, wanted + count, is_missing));
}

// The experts of each row, [T k] in the order of the choices.
std::vector<std::int64_t> chosen_experts(const at::Tensor& probabilities, std::int64_t per_token,
                                         const LayerRouting& routing) {
  auto ids = to_numbers(std::get<1>(at::topk(probabilities.detach(), per_token, 1)));
  const auto width = static_cast<std::size_t>(per_token), rows = ids.size() / width;
  for (std::size_t row = 0; row < rows; ++row) {
    const ExpertId* replayed = routing.replayed ? routing.replayed + row * routing.stride : nullptr;
    if (replayed && *replayed != kRouterChooses) {
      auto* chosen = ids.data() + row * width;
      if (routing.num_rerouted) *routing.num_rerouted += num_missing(replayed, chosen, width);
      std::copy_n(replayed, width, chosen);
    }
    if (!routing.used) continue;
    for (std::size_t k = 0; k < width; ++k) {
      routing.used[row * routing.stride + k] = static_cast<ExpertId>(ids[row * width + k]);
    }
  }
  return ids;
}

// The choices' weights, one column [T, 1] each, float32. Sums go column by column: no reduction of the
// library's whose order could depend on the number of rows.
std::vector<at::Tensor> weight_columns(const at::Tensor& probabilities, const at::Tensor& ids, bool normalises) {
  auto columns = at::gather(probabilities, 1, ids).split(1, 1);
  if (!normalises) return columns;
  at::Tensor total = columns[0];
  for (std::size_t k = 1; k < columns.size(); ++k) total = total + columns[k];
  for (auto& column : columns) column = column / total;
  return columns;
}

at::Tensor run_expert(const Ops& ops, const ExpertWeights& expert, const at::Tensor& x) {
  return ops.linear(ops.swiglu(ops.linear(x, expert.gate_up, {})), expert.down, {});
}

// [T k, H] in the order of `places`, back in the order of the choices: one [T, H] for each of the k.
std::vector<at::Tensor> by_choice(const at::Tensor& outputs, const ExpertRows& groups, std::int64_t per_token) {
  std::vector<std::int64_t> origin(groups.places.size());
  for (std::size_t i = 0; i < groups.places.size(); ++i) {
    origin[static_cast<std::size_t>(groups.places[i])] = static_cast<std::int64_t>(i);
  }
  const at::Tensor back = at::tensor(origin, at::kLong).to(outputs.device());
  return at::unbind(outputs.index_select(0, back).view({-1, per_token, outputs.size(1)}), 1);
}
}  // namespace

ExpertRows group_by_expert(const std::vector<std::int64_t>& ids, std::int64_t num_experts) {
  std::vector<std::vector<std::int64_t>> places(static_cast<std::size_t>(num_experts));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    places[static_cast<std::size_t>(ids[i])].push_back(static_cast<std::int64_t>(i));
  }
  ExpertRows groups;
  for (std::size_t expert = 0; expert < places.size(); ++expert) {
    if (places[expert].empty()) continue;
    groups.experts.push_back(static_cast<std::int64_t>(expert));
    groups.counts.push_back(static_cast<std::int64_t>(places[expert].size()));
    groups.places.insert(groups.places.end(), places[expert].begin(), places[expert].end());
  }
  return groups;
}

at::Tensor mix_experts(const Ops& ops, const DecoderConfig& config, const LayerWeights& weights, const at::Tensor& x,
                       const LayerRouting& routing) {
  const std::int64_t per_token = config.experts_per_token;
  const at::Tensor probabilities = at::softmax(ops.linear(x, weights.router, {}), 1, at::kFloat);  // [T, E]
  const auto ids = chosen_experts(probabilities, per_token, routing);
  const ExpertRows groups = group_by_expert(ids, config.num_experts);
  std::vector<std::int64_t> rows;
  for (const auto place : groups.places) rows.push_back(place / per_token);

  const at::Tensor inputs = x.index_select(0, at::tensor(rows, at::kLong).to(x.device()));  // [T k, H]
  const auto parts = at::split_with_sizes(inputs, groups.counts);
  std::vector<at::Tensor> outputs;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    outputs.push_back(run_expert(ops, weights.experts[static_cast<std::size_t>(groups.experts[i])], parts[i]));
  }
  const auto choices = by_choice(at::cat(outputs), groups, per_token);
  const at::Tensor chosen = at::tensor(ids, at::kLong).view({-1, per_token}).to(x.device());
  const auto columns = weight_columns(probabilities, chosen, config.normalises_expert_weights);
  at::Tensor sum = choices[0] * columns[0];  // float32
  for (std::size_t k = 1; k < choices.size(); ++k) sum = sum + choices[k] * columns[k];
  if (weights.shared_gate.defined()) {
    sum = sum + ops.gated(run_expert(ops, weights.shared_expert, x), ops.linear(x, weights.shared_gate, {}));
  }
  return sum.to(x.scalar_type());
}
}  // namespace corisco::model
