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
#include <ATen/ops/silu.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "model/linear.h"
#include "model/ops.h"
#include "model/recorded.h"

namespace corisco::model {
namespace {
constexpr std::int64_t kMaskElementsMax = std::int64_t{1} << 26;
constexpr std::int64_t kLogitRows = 512;  // rows of logits that exist at a time

// Rows of the store that a block of query rows attends to, and which row attends to which.
struct Block {
  std::int64_t first = 0, count = 0;
  at::Tensor keys;  // [U] rows of the store
  at::Tensor mask;  // [count, U] bool
};

struct AtenPass final : Pass {
  AttentionPlan plan;
  at::Tensor cosines, sines;  // [T, 1, D / 2]
  at::Tensor slots;           // [T], or undefined
  std::vector<Block> blocks;  // made on the first layer, when the device is known
};

std::vector<std::int64_t> keys_of(const AttentionPlan& plan, std::int64_t row) {
  std::vector<std::int64_t> keys;
  const auto t = static_cast<std::size_t>(row);
  for (auto s = static_cast<std::size_t>(plan.begin[t]); s < static_cast<std::size_t>(plan.begin[t + 1]);
       ++s) {
    for (std::int32_t k = 0; k < plan.spans[s].length; ++k) keys.push_back(plan.spans[s].first + k);
  }
  return keys;
}

at::Tensor to_tensor(const std::vector<std::int64_t>& numbers) {
  at::Tensor result = at::empty({static_cast<std::int64_t>(numbers.size())}, at::kLong);
  std::copy(numbers.begin(), numbers.end(), result.mutable_data_ptr<std::int64_t>());
  return result;
}

Block make_block(const AttentionPlan& plan, std::int64_t first, std::int64_t count,
                 const at::Device& device) {
  std::vector<std::vector<std::int64_t>> rows;
  std::vector<std::int64_t> keys;
  for (std::int64_t row = first; row < first + count; ++row) {
    rows.push_back(keys_of(plan, row));
    keys.insert(keys.end(), rows.back().begin(), rows.back().end());
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  at::Tensor mask = at::zeros({count, static_cast<std::int64_t>(keys.size())}, at::kBool);
  bool* bits = mask.mutable_data_ptr<bool>();
  for (std::int64_t row = 0; row < count; ++row) {
    for (const auto key : rows[static_cast<std::size_t>(row)]) {
      bits[row * mask.size(1) + (std::lower_bound(keys.begin(), keys.end(), key) - keys.begin())] = true;
    }
  }
  return {.first = first, .count = count, .keys = to_tensor(keys).to(device), .mask = mask.to(device)};
}

// Blocks of rows whose masks stay below the bound even if no two rows shared a key.
std::vector<Block> make_blocks(const AttentionPlan& plan, std::int64_t num_rows, const at::Device& device) {
  std::vector<Block> blocks;
  for (std::int64_t first = 0; first < num_rows;) {
    std::int64_t count = 0, keys = 0;
    while (first + count < num_rows) {
      const auto more = static_cast<std::int64_t>(keys_of(plan, first + count).size());
      if (count > 0 && (keys + more) * (count + 1) > kMaskElementsMax) break;
      keys += more;
      ++count;
    }
    blocks.push_back(make_block(plan, first, count, device));
    first += count;
  }
  return blocks;
}

// x [T, heads, D] turned by the pass's angles, in float32.
at::Tensor rotated(const at::Tensor& x, const AtenPass& pass) {
  const std::int64_t half = x.size(2) / 2;
  const at::Tensor first = x.narrow(2, 0, half).to(at::kFloat),
                   second = x.narrow(2, half, half).to(at::kFloat);
  return at::cat({first * pass.cosines - second * pass.sines, second * pass.cosines + first * pass.sines}, 2)
      .to(x.scalar_type());
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
    pass->plan = input.attention;
    const RopeAngles angles = rope_angles(options_.rope, input.positions);
    const std::int64_t half = options_.heads.head_dim / 2,
                       rows = static_cast<std::int64_t>(input.positions.size());
    pass->cosines = at::empty({rows, 1, half}, at::kFloat);
    pass->sines = at::empty({rows, 1, half}, at::kFloat);
    std::copy(angles.cosines.begin(), angles.cosines.end(), pass->cosines.mutable_data_ptr<float>());
    std::copy(angles.sines.begin(), angles.sines.end(), pass->sines.mutable_data_ptr<float>());
    if (input.cache != nullptr) pass->slots = to_tensor(input.slots);
    return pass;
  }

  void refresh(const at::Tensor&) const override {}  // computes with the weights themselves

  at::Tensor embed(const at::Tensor& weight, const std::vector<std::int64_t>& ids) const override {
    return at::index_select(weight, 0, to_tensor(ids).to(weight.device()));
  }

  Normed norm(const at::Tensor& hidden, const at::Tensor& addend, const at::Tensor& weight) const override {
    const at::Tensor sum = addend.defined() ? hidden + addend : hidden;
    const at::Tensor wide = sum.to(at::kFloat);
    const at::Tensor scale = at::rsqrt(wide.pow(2).mean(1, /*keepdim=*/true) + options_.norm_epsilon);
    return {.sum = sum, .output = weight * (wide * scale).to(sum.scalar_type())};
  }

  at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) const override {
    return bias.defined() ? at::linear(x, weight, bias) : at::linear(x, weight);
  }

  at::Tensor attention(const at::Tensor& qkv, const std::shared_ptr<Pass>& shared, KvStore* cache,
                       std::size_t layer) const override {
    auto& pass = static_cast<AtenPass&>(*shared);
    const HeadShape& heads = options_.heads;
    const std::int64_t rows = qkv.size(0), group = heads.num_heads / heads.num_kv_heads;
    if (pass.blocks.empty()) prepare(pass, rows, qkv.device());
    const at::Tensor split = qkv.view({rows, -1, heads.head_dim});
    const at::Tensor queries = rotated(split.narrow(1, 0, heads.num_heads), pass).transpose(0, 1);
    at::Tensor keys = rotated(split.narrow(1, heads.num_heads, heads.num_kv_heads), pass);
    at::Tensor values = split.narrow(1, heads.num_heads + heads.num_kv_heads, heads.num_kv_heads);
    if (cache != nullptr) {
      keys = cache->keys[layer].index_copy_(0, pass.slots, keys);
      values = cache->values[layer].index_copy_(0, pass.slots, values);
    }
    std::vector<at::Tensor> parts;
    for (const Block& block : pass.blocks) {
      parts.push_back(
          at::scaled_dot_product_attention(queries.narrow(1, block.first, block.count).unsqueeze(0),
                                           chosen_heads(keys, block.keys, group).unsqueeze(0),
                                           chosen_heads(values, block.keys, group).unsqueeze(0), block.mask));
    }
    return at::cat(parts, 2).squeeze(0).transpose(0, 1).reshape({rows, heads.query_width()});
  }

  at::Tensor swiglu(const at::Tensor& gate_up) const override {
    const std::int64_t width = gate_up.size(1) / 2;
    return at::silu(gate_up.narrow(1, 0, width)) * gate_up.narrow(1, width, width);
  }

  at::Tensor selected_logprobs(const at::Tensor& hidden, const at::Tensor& head,
                               const std::vector<std::int64_t>& targets, float temperature) const override {
    const at::Tensor ids = to_tensor(targets).to(hidden.device());
    return record({hidden, head}, [&]() -> Recorded {
      return {.outputs = {chosen_logprobs(hidden, head, ids, temperature)},
              .saved = {hidden, head, ids},
              .backward = [temperature](const Tensors& saved, const Tensors& gradients) {
                return chosen_logprobs_gradient(saved[0], saved[1], saved[2], temperature, gradients[0]);
              }};
    })[0];
  }

 private:
  static void prepare(AtenPass& pass, std::int64_t rows, const at::Device& device) {
    pass.blocks = make_blocks(pass.plan, rows, device);
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
