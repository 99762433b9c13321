// The chunked form of the gated delta rule (Yang, Kautz and Hatamizadeh 2024, section 3.3): what the rows of a
// chunk write is the solution of one triangular system, so that the state is touched once per chunk. float32.
#include "model/aten_delta.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cumsum.h>
#include <ATen/ops/linalg_solve_triangular.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace corisco::model {
namespace {
constexpr std::int64_t kChunkRows = 64;

// The state of one sequence in one layer, split as DeltaShape has it.
struct State {
  at::Tensor window;  // [key heads, kernel - 1, channels]
  at::Tensor memory;  // [value heads, K, V]
};

// Rows of a segment as the rule takes them, value heads first.
struct Rows {
  at::Tensor queries, keys, values;  // [value heads, n, K or V]
  at::Tensor rates, decays;          // [value heads, n]
  Rows narrow(std::int64_t first, std::int64_t count) const {
    return {queries.narrow(1, first, count), keys.narrow(1, first, count), values.narrow(1, first, count),
            rates.narrow(1, first, count), decays.narrow(1, first, count)};
  }
};

at::Tensor run_row(const Rows& rows, at::Tensor& memory) {
  const at::Tensor decayed = memory * rows.decays.exp().unsqueeze(2);
  const at::Tensor error = rows.values - at::matmul(rows.keys, decayed);
  memory = decayed + at::matmul(rows.keys.transpose(1, 2), error * rows.rates.unsqueeze(2));
  return at::matmul(rows.queries, memory);
}

// With sums of decays G and the decay between rows D_ij = exp(G_i - G_j), j <= i.
at::Tensor run_chunk(const Rows& rows, at::Tensor& memory) {
  const std::int64_t count = rows.keys.size(1);
  if (count == 1) return run_row(rows, memory);
  const at::Tensor sums = at::cumsum(rows.decays, 1), from_start = sums.exp().unsqueeze(2);
  const at::Tensor later = at::ones({count, count}, rows.keys.options().dtype(at::kBool)).triu(1);
  const at::Tensor between = (sums.unsqueeze(2) - sums.unsqueeze(1))
                                 .masked_fill(later, -std::numeric_limits<float>::infinity())
                                 .exp();
  const at::Tensor rates = rows.rates.unsqueeze(2), keys_t = rows.keys.transpose(1, 2);
  const at::Tensor written_keys = rows.keys * rates;
  const at::Tensor solved = at::linalg_solve_triangular(
      at::matmul(written_keys, keys_t) * between,
      at::cat({rows.values * rates, written_keys * from_start}, 2), /*upper=*/false, /*left=*/true,
      /*unitriangular=*/true);
  const auto parts = solved.split_with_sizes({rows.values.size(2), rows.keys.size(2)}, 2);
  const at::Tensor written = parts[0] - at::matmul(parts[1], memory);
  const at::Tensor output = at::matmul(rows.queries * from_start, memory) +
                            at::matmul(at::matmul(rows.queries, keys_t) * between, written);
  const at::Tensor last = sums.narrow(1, count - 1, 1);
  memory = memory * last.exp().unsqueeze(2) +
           at::matmul((rows.keys * (last - sums).exp().unsqueeze(2)).transpose(1, 2), written);
  return output;
}

at::Tensor to_length_one(const at::Tensor& x) {
  return x * at::rsqrt((x * x).sum(-1, /*keepdim=*/true) + 1e-6);
}

// Columns of queries, keys and values by key head: [.., mixed_width] over `dim` -> [key heads, channels] there.
at::Tensor by_head(const DeltaShape& shape, const at::Tensor& mixed, std::int64_t dim) {
  const auto parts = mixed.split_with_sizes({shape.key_width(), shape.key_width(), shape.value_width()}, dim);
  std::vector<at::Tensor> heads;
  for (const auto& part : parts) heads.push_back(part.unflatten(dim, {shape.num_key_heads, -1}));
  return at::cat(heads, dim + 1);
}

// The layer over the rows of one pass.
class Layer {
 public:
  Layer(const DeltaShape& shape, const at::Tensor& projected, const DeltaWeights& weights)
      : shape_(shape) {
    const auto parts = projected.split_with_sizes(
        {shape.mixed_width(), shape.value_width(), shape.num_value_heads, shape.num_value_heads}, 1);
    mixed_ = by_head(shape, parts[0], 1).transpose(0, 1);                                // [nk, T, channels]
    conv_ = by_head(shape, weights.conv.to(at::kFloat).flatten(1), 0).transpose(1, 2);   // [nk, kernel, channels]
    gates_ = parts[1];
    rates_ = at::sigmoid(parts[2]).t();
    const at::Tensor steps = at::softplus(parts[3] + weights.dt_bias.to(at::kFloat));
    decays_ = (steps * -weights.a_log.to(at::kFloat).exp()).t();
  }
  const at::Tensor& gates() const { return gates_; }  // [T, value_width]

  at::Tensor run(const RowSegment& segment, State& state) const {  // [n, value heads, V]
    const Rows rows = rows_of(segment, state);
    std::vector<at::Tensor> parts;
    for (std::int64_t first = 0; first < segment.length; first += kChunkRows) {
      parts.push_back(run_chunk(rows.narrow(first, std::min(kChunkRows, segment.length - first)), state.memory));
    }
    return at::cat(parts, 1).transpose(0, 1);
  }

 private:
  // Moves the state's window on.
  Rows rows_of(const RowSegment& segment, State& state) const {
    const at::Tensor inputs = at::cat({state.window, mixed_.narrow(1, segment.first, segment.length)}, 1);
    state.window = inputs.narrow(1, segment.length, shape_.kernel - 1);
    at::Tensor sum = inputs.narrow(1, 0, segment.length) * conv_.narrow(1, 0, 1);
    for (std::int64_t j = 1; j < shape_.kernel; ++j) {
      sum = sum + inputs.narrow(1, j, segment.length) * conv_.narrow(1, j, 1);
    }
    const auto parts = at::silu(sum).split_with_sizes(
        {shape_.key_dim, shape_.key_dim, shape_.group() * shape_.value_dim}, 2);
    const double scale = 1 / std::sqrt(static_cast<double>(shape_.key_dim));
    return {.queries = (to_length_one(parts[0]) * scale).repeat_interleave(shape_.group(), 0),
            .keys = to_length_one(parts[1]).repeat_interleave(shape_.group(), 0),
            .values = parts[2].unflatten(2, {shape_.group(), shape_.value_dim}).transpose(1, 2).flatten(0, 1),
            .rates = rates_.narrow(1, segment.first, segment.length),
            .decays = decays_.narrow(1, segment.first, segment.length)};
  }

  const DeltaShape shape_;
  at::Tensor mixed_, conv_, gates_, rates_, decays_;
};

// Of a slot's numbers: [key heads, state_floats].
State split_state(const DeltaShape& shape, const at::Tensor& numbers) {
  const auto parts = numbers.split_with_sizes({shape.window_floats(), shape.memory_floats()}, 1);
  return {.window = parts[0].unflatten(1, {shape.kernel - 1, shape.channels()}),
          .memory = parts[1].unflatten(1, {shape.group(), shape.key_dim, shape.value_dim}).flatten(0, 1)};
}

at::Tensor joined_state(const DeltaShape& shape, const State& state) {
  return at::cat({state.window.flatten(1),
                  state.memory.unflatten(0, {shape.num_key_heads, shape.group()}).flatten(1)}, 1);
}

at::Tensor gated_norm(const DeltaShape& shape, float epsilon, const at::Tensor& x, const at::Tensor& gates,
                      const at::Tensor& weight) {
  const at::Tensor scale = at::rsqrt(x.pow(2).mean(-1, /*keepdim=*/true) + epsilon);
  const at::Tensor open = at::silu(gates).unflatten(1, {shape.num_value_heads, shape.value_dim});
  return (weight.to(at::kFloat) * (x * scale) * open).flatten(1);
}
}  // namespace

at::Tensor aten_delta_net(const DeltaShape& shape, float epsilon, const at::Tensor& projected,
                          const DeltaLayer& layer, const RowSegments& segments, KvStore* cache) {
  const at::Tensor wide = projected.to(at::kFloat);
  const Layer rows(shape, wide, layer.weights);
  const at::Tensor stored = cache != nullptr ? cache->states.at(layer.index) : at::Tensor();
  std::vector<State> ends;
  std::vector<at::Tensor> outputs;
  for (const RowSegment& segment : segments.list) {
    State state;
    if (segment.parent >= 0) state = ends[static_cast<std::size_t>(segment.parent)];
    else if (segment.resumes) state = split_state(shape, stored.select(0, segment.slot));
    else state = split_state(shape, at::zeros({shape.num_key_heads, shape.state_floats()}, wide.options()));
    outputs.push_back(rows.run(segment, state));
    if (segment.is_last) stored.select(0, segment.slot).copy_(joined_state(shape, state));
    ends.push_back(std::move(state));
  }
  const at::Tensor output = at::cat(outputs, 0);  // [T, value heads, V]
  return gated_norm(shape, epsilon, output, rows.gates(), layer.weights.norm).to(projected.scalar_type());
}
}  // namespace corisco::model
