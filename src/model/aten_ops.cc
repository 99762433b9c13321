// The decoder's operations as plain ATen calls: any device, autograd by torch itself, and the
// reference that the tests hold the CPU kernels against. Attention takes the union of the pass's
// keys and a mask, in blocks of rows that bound the mask.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/index_copy.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>

#include <algorithm>

#include "model/aten_delta.h"
#include "model/aten_key_blocks.h"
#include "model/linear.h"
#include "model/ops.h"
#include "model/recorded.h"
#include "model/window.h"

namespace corisco::model {
namespace {
constexpr std::int64_t kLogitRows = 512;  // rows of logits that exist at a time

struct AtenPass final : Pass {
  AttentionPlan all, last;    // last: of the layers that slide
  at::Tensor cosines, sines;  // [T, 1, turned / 2]
  RowSegments segments;       // for recurrent layers
  at::Tensor slots;           // [T], or undefined
  // Made on the first layer, when the device is known.
  std::vector<KeyBlock> all_blocks, last_blocks;
};

// x [T, heads, D], the front of each head turned by the pass's angles, in float32.
at::Tensor rotated(const at::Tensor& x, const AtenPass& pass) {
  const std::int64_t half = pass.cosines.size(2), rest = x.size(2) - 2 * half;
  const at::Tensor first = x.narrow(2, 0, half).to(at::kFloat),
                   second = x.narrow(2, half, half).to(at::kFloat);
  const at::Tensor turned =
      at::cat({first * pass.cosines - second * pass.sines, second * pass.cosines + first * pass.sines}, 2)
          .to(x.scalar_type());
  return rest == 0 ? turned : at::cat({turned, x.narrow(2, 2 * half, rest)}, 2);
}

// Each key head once per query head that shares it, rows chosen: [Hq, U, D].
at::Tensor chosen_heads(const at::Tensor& store, const at::Tensor& rows, std::int64_t group) {
  return at::index_select(store, 0, rows).repeat_interleave(group, 1).transpose(0, 1);
}

at::Tensor chunk_logprobs(const at::Tensor& hidden, const at::Tensor& head, double temperature) {
  return at::log_softmax(at::linear(hidden, head).to(at::kFloat).div_(temperature), 1);
}

at::Tensor chosen_logprobs(const at::Tensor& hidden, const at::Tensor& head, const at::Tensor& targets,
                           double temperature) {
  Tensors parts{at::empty({0}, hidden.options().dtype(at::kFloat))};
  for (std::int64_t row = 0; row < hidden.size(0); row += kLogitRows) {
    const std::int64_t count = std::min(kLogitRows, hidden.size(0) - row);
    const at::Tensor ids = targets.narrow(0, row, count).unsqueeze(1);
    const at::Tensor logprobs = chunk_logprobs(hidden.narrow(0, row, count), head, temperature);
    parts.push_back(at::gather(logprobs, 1, ids).squeeze(1));
  }
  return at::cat(parts);
}

// Gradients of hidden and head.
Tensors chosen_logprobs_gradient(const at::Tensor& hidden, const at::Tensor& head, const at::Tensor& targets,
                                 double temperature, const at::Tensor& gradient) {
  at::Tensor hidden_gradient = at::empty_like(hidden);
  GradientSum head_gradient(head);
  for (std::int64_t row = 0; row < hidden.size(0); row += kLogitRows) {
    const std::int64_t count = std::min(kLogitRows, hidden.size(0) - row);
    const at::Tensor part = hidden.narrow(0, row, count);
    const at::Tensor given = gradient.narrow(0, row, count).unsqueeze(1).div(temperature);
    at::Tensor logits = chunk_logprobs(part, head, temperature).exp_().mul_(-given);
    logits.scatter_add_(1, targets.narrow(0, row, count).unsqueeze(1), given);
    logits = logits.to(head.scalar_type());
    at::Tensor to = hidden_gradient.narrow(0, row, count);
    at::mm_out(to, logits, head);
    head_gradient.add(logits, part);
  }
  return {hidden_gradient, head_gradient.take()};
}

class AtenOps final : public Ops {
 public:
  explicit AtenOps(OpsOptions options) : options_(std::move(options)) {}

  std::shared_ptr<Pass> begin(const ForwardInput& input) const override {
    auto pass = std::make_shared<AtenPass>();
    pass->all = input.attention;
    if (options_.sliding_window > 0) pass->last = last_keys(input.attention, options_.sliding_window);
    const RopeAngles angles = rope_angles(options_.rope, input.positions);
    const auto half = static_cast<std::int64_t>(options_.rope.inverse_frequencies.size()),
               rows = static_cast<std::int64_t>(input.positions.size());
    pass->cosines = at::empty({rows, 1, half}, at::kFloat);
    pass->sines = at::empty({rows, 1, half}, at::kFloat);
    std::copy(angles.cosines.begin(), angles.cosines.end(), pass->cosines.mutable_data_ptr<float>());
    std::copy(angles.sines.begin(), angles.sines.end(), pass->sines.mutable_data_ptr<float>());
    if (input.cache != nullptr) pass->slots = id_tensor(input.slots);
    if (options_.delta.exists()) {
      pass->segments = input.cache != nullptr ? segments_of(input.states, input.positions)
                                              : segments_of(input.attention, rows);
    }
    return pass;
  }

  void refresh(const at::Tensor&) const override {}  // computes with the weights themselves

  at::Tensor embed(const at::Tensor& weight, const std::vector<std::int64_t>& ids) const override {
    return at::index_select(weight, 0, id_tensor(ids).to(weight.device()));
  }

  Normed norm(const at::Tensor& hidden, const at::Tensor& addend, const at::Tensor& weight) const override {
    const at::Tensor sum = addend.defined() ? hidden + addend : hidden;
    return {.sum = sum, .output = normalised(sum, weight)};
  }

  at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) const override {
    return bias.defined() ? at::linear(x, weight, bias) : at::linear(x, weight);
  }

  at::Tensor logits(const at::Tensor& hidden, const at::Tensor& head) const override {
    return at::linear(hidden, head).to(at::kFloat);
  }

  at::Tensor norm_heads(const at::Tensor& qkv, const at::Tensor& query_weight,
                        const at::Tensor& key_weight) const override {
    const HeadShape& heads = options_.heads;
    const at::Tensor split = qkv.view({qkv.size(0), -1, heads.head_dim});
    const auto parts = split.split_with_sizes({heads.num_heads, heads.num_kv_heads, heads.num_kv_heads}, 1);
    return at::cat({normalised(parts[0], query_weight), normalised(parts[1], key_weight), parts[2]}, 1)
        .view({qkv.size(0), heads.qkv_width()});
  }

  at::Tensor attention(const at::Tensor& qkv, const std::shared_ptr<Pass>& shared, KvStore* cache,
                       const AttentionLayer& layer) const override {
    auto& pass = static_cast<AtenPass&>(*shared);
    const HeadShape& heads = options_.heads;
    const std::int64_t rows = qkv.size(0), group = heads.num_heads / heads.num_kv_heads;
    if (pass.all_blocks.empty()) prepare(pass, rows, qkv.device());
    const at::Tensor split = qkv.view({rows, -1, heads.head_dim});
    const at::Tensor queries = rotated(split.narrow(1, 0, heads.num_heads), pass).transpose(0, 1);
    at::Tensor keys = rotated(split.narrow(1, heads.num_heads, heads.num_kv_heads), pass);
    at::Tensor values = split.narrow(1, heads.num_heads + heads.num_kv_heads, heads.num_kv_heads);
    if (cache != nullptr) {
      keys = cache->keys[layer.index].index_copy_(0, pass.slots, keys);
      values = cache->values[layer.index].index_copy_(0, pass.slots, values);
    }
    std::vector<at::Tensor> parts;
    for (const KeyBlock& block : layer.is_sliding ? pass.last_blocks : pass.all_blocks) {
      parts.push_back(
          at::scaled_dot_product_attention(queries.narrow(1, block.first, block.count).unsqueeze(0),
                                           chosen_heads(keys, block.keys, group).unsqueeze(0),
                                           chosen_heads(values, block.keys, group).unsqueeze(0), block.mask));
    }
    return at::cat(parts, 2).squeeze(0).transpose(0, 1).reshape({rows, heads.query_width()});
  }

  at::Tensor delta_net(const at::Tensor& projected, const DeltaLayer& layer, const std::shared_ptr<Pass>& pass,
                       KvStore* cache) const override {
    return aten_delta_net(options_.delta, options_.norm_epsilon, projected, layer,
                          static_cast<const AtenPass&>(*pass).segments, cache);
  }

  at::Tensor gated(const at::Tensor& x, const at::Tensor& gate) const override { return x * at::sigmoid(gate); }

  at::Tensor swiglu(const at::Tensor& gate_up) const override {
    const std::int64_t width = gate_up.size(1) / 2;
    return at::silu(gate_up.narrow(1, 0, width)) * gate_up.narrow(1, width, width);
  }

  at::Tensor selected_logprobs(const at::Tensor& hidden, const at::Tensor& head,
                               const std::vector<std::int64_t>& targets, float temperature) const override {
    const at::Tensor ids = id_tensor(targets).to(hidden.device());
    return record({hidden, head}, [&]() -> Recorded {
      return {.outputs = {chosen_logprobs(hidden, head, ids, temperature)},
              .saved = {hidden, head, ids},
              .backward = [temperature](const Tensors& saved, const Tensors& gradients) {
                return chosen_logprobs_gradient(saved[0], saved[1], saved[2], temperature, gradients[0]);
              }};
    })[0];
  }

 private:
  // x over its last dimension. Rounded before the weight, or after it where weights are stored less 1.
  at::Tensor normalised(const at::Tensor& x, const at::Tensor& weight) const {
    const at::Tensor wide = x.to(at::kFloat);
    const at::Tensor normal = wide * at::rsqrt(wide.pow(2).mean(-1, /*keepdim=*/true) + options_.norm_epsilon);
    if (options_.norm_offset == 0) return weight * normal.to(x.scalar_type());
    return ((weight.to(at::kFloat) + options_.norm_offset) * normal).to(x.scalar_type());
  }
  static void prepare(AtenPass& pass, std::int64_t rows, const at::Device& device) {
    pass.all_blocks = make_key_blocks(pass.all, rows, device);
    if (!pass.last.spans.empty()) pass.last_blocks = make_key_blocks(pass.last, rows, device);
    pass.cosines = pass.cosines.to(device);
    pass.sines = pass.sines.to(device);
    if (pass.slots.defined()) pass.slots = pass.slots.to(device);
  }
  const OpsOptions options_;
};
}  // namespace

std::unique_ptr<Ops> make_aten_ops(OpsOptions options) {
  return std::make_unique<AtenOps>(std::move(options));
}
}  // namespace corisco::model
