// Gated DeltaNet layers on the CPU: each key head of each sequence a task of its own, in the recurrent form
// for decoding, prompts and training, so that all of them give a row the same bits. The backward computes
// the rows of a segment again from the state before it.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <vector>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"
#include "model/cpu_ops.h"
#include "model/delta_head.h"
#include "model/parallel.h"
#include "model/recorded.h"

namespace corisco::model {
namespace {
at::Tensor wide(const at::Tensor& tensor) { return tensor.detach().to(at::kFloat).contiguous(); }

// One layer in float32.
struct Layer {
  Layer(const DeltaShape& given, float norm_epsilon, const at::Tensor& rows, const Tensors& weights)
      : shape(given), epsilon(norm_epsilon), projected(wide(rows)) {
    for (const auto& weight : weights) parameters.push_back(wide(weight));
  }
  DeltaHead head(std::int64_t index) const {
    return {shape, index, epsilon,
            {.conv = parameters[0].const_data_ptr<float>(),
             .a_log = parameters[1].const_data_ptr<float>(),
             .dt_bias = parameters[2].const_data_ptr<float>(),
             .norm = parameters[3].const_data_ptr<float>()}};
  }
  const float* row(std::int64_t index) const {
    return projected.const_data_ptr<float>() + index * shape.projected_width();
  }
  std::int64_t work() const { return projected.size(0) * shape.num_value_heads * shape.key_dim * shape.value_dim * 4; }

  DeltaShape shape;
  float epsilon;
  at::Tensor projected;
  Tensors parameters;  // as DeltaWeights has them
};

std::vector<float> floats(std::int64_t count) { return std::vector<float>(static_cast<std::size_t>(count)); }

// The states of one head: of sequences in a cache where they lie, of others after each segment. cache:
// [slots, key heads, state] or undefined.
class States {
 public:
  States(const Layer& layer, std::int64_t head, const RowSegments& segments, const at::Tensor& cache)
      : floats_(layer.shape.state_floats()), segments_(segments), ends_(segments.list.size()) {
    if (!cache.defined()) return;
    cache_ = cache.mutable_data_ptr<float>() + head * floats_;
    slot_stride_ = cache.size(1) * floats_;
  }
  // Where the state before the segment lies, to be moved on there: in the cache, or in `own`, which holds the one
  // after segment `held`.
  float* begin(const RowSegment& segment, std::int64_t held, float* own) const {
    float* state = segment.slot >= 0 ? cache_ + segment.slot * slot_stride_ : own;
    if (segment.parent >= 0 && segment.parent != held) {
      std::ranges::copy(ends_[static_cast<std::size_t>(segment.parent)], state);
    } else if (segment.parent < 0 && !segment.resumes) {
      std::fill_n(state, floats_, 0.0F);
    }
    return state;
  }
  void end(std::size_t index, const float* state) {
    if (segments_.list[index].slot < 0) ends_[index].assign(state, state + floats_);
  }

 private:
  const std::int64_t floats_;
  const RowSegments& segments_;
  std::vector<std::vector<float>> ends_;
  float* cache_ = nullptr;
  std::int64_t slot_stride_ = 0;
};

void run_tree(const Layer& layer, const RowSegments& segments, const std::vector<std::size_t>& tree,
              const DeltaHead& head, States& states, float* output) {
  auto state = floats(layer.shape.state_floats()), memory = floats(DeltaHead::memo_floats(layer.shape));
  DeltaMemo memo = head.place(memory.data());
  memo.decayed = nullptr;  // no gradient follows
  std::int64_t held = -1;
  for (const std::size_t index : tree) {
    const RowSegment& segment = segments.list[index];
    float* now = states.begin(segment, held, state.data());
    for (std::int64_t row = segment.first; row < segment.first + segment.length; ++row) {
      head.step(layer.row(row), now, output + row * layer.shape.value_width(), memo);
    }
    states.end(index, now);
    held = static_cast<std::int64_t>(index);
  }
}

at::Tensor run_delta(const Layer& layer, const RowSegments& segments, const at::Tensor& cache) {
  at::Tensor output = at::empty({layer.projected.size(0), layer.shape.value_width()}, at::kFloat);
  const auto num_trees = static_cast<std::int64_t>(segments.trees.size()), heads = layer.shape.num_key_heads;
  parallel_tasks(num_trees * heads, layer.work(), 0, [&](std::int64_t task, float*) {
    const std::int64_t index = task % heads;
    States states(layer, index, segments, cache);
    run_tree(layer, segments, segments.trees[static_cast<std::size_t>(task / heads)], layer.head(index), states,
             output.mutable_data_ptr<float>());
  });
  return output;
}

struct LayerGradients {
  at::Tensor projected;        // [T, projected_width]
  at::Tensor conv, a_log, dt_bias;
  at::Tensor norm;             // [key heads, value_dim]
};

// The backward of one head over all trees, last segment first.
class HeadBackward {
 public:
  HeadBackward(const Layer& layer, const RowSegments& segments, std::int64_t head)
      : layer_(layer),
        segments_(segments),
        head_(layer.head(head)),
        states_(layer, head, segments, {}),
        gradients_(segments.list.size()),
        memory_(floats(kSegmentRowsMax * DeltaHead::memo_floats(layer.shape))) {}

  void run(const at::Tensor& output_gradient, const LayerGradients& to, const DeltaParameterGradients& sums) {
    auto unused = floats(layer_.projected.size(0) * layer_.shape.value_width());
    for (const auto& tree : segments_.trees) run_tree(layer_, segments_, tree, head_, states_, unused.data());
    for (std::size_t i = segments_.list.size(); i-- > 0;) {
      const RowSegment& segment = segments_.list[i];
      auto gradient = std::move(gradients_[i]);
      gradient.resize(static_cast<std::size_t>(layer_.shape.state_floats()));
      compute_again(segment, unused.data());
      for (std::int64_t row = segment.first + segment.length; row-- > segment.first;) {
        head_.step_gradient(layer_.row(row), memo(row - segment.first),
                            output_gradient.const_data_ptr<float>() + row * layer_.shape.value_width(),
                            gradient.data(),
                            to.projected.mutable_data_ptr<float>() + row * layer_.shape.projected_width(), sums);
      }
      if (segment.parent >= 0) add(gradients_[static_cast<std::size_t>(segment.parent)], gradient);
    }
  }

 private:
  DeltaMemo memo(std::int64_t row) { return head_.place(memory_.data() + row * DeltaHead::memo_floats(layer_.shape)); }
  void compute_again(const RowSegment& segment, float* output) {
    auto own = floats(layer_.shape.state_floats());
    float* state = states_.begin(segment, -1, own.data());
    for (std::int64_t i = 0; i < segment.length; ++i) {
      const std::int64_t row = segment.first + i;
      head_.step(layer_.row(row), state, output + row * layer_.shape.value_width(), memo(i));
    }
  }
  static void add(std::vector<float>& to, const std::vector<float>& part) {
    to.resize(part.size());
    for (std::size_t i = 0; i < part.size(); ++i) to[i] += part[i];
  }

  const Layer& layer_;
  const RowSegments& segments_;
  const DeltaHead head_;
  States states_;
  std::vector<std::vector<float>> gradients_;  // of the state after each segment
  std::vector<float> memory_;
};

Tensors delta_backward(const DeltaShape& shape, float epsilon, const RowSegments& segments, const Tensors& saved,
                       const at::Tensor& gradient) {
  const Tensors weights(saved.begin() + 1, saved.end());
  const Layer layer(shape, epsilon, saved[0], weights);
  const at::Tensor output_gradient = wide(gradient);
  const LayerGradients to{.projected = at::empty_like(layer.projected),
                          .conv = at::zeros_like(layer.parameters[0]),
                          .a_log = at::zeros_like(layer.parameters[1]),
                          .dt_bias = at::zeros_like(layer.parameters[2]),
                          .norm = at::zeros({shape.num_key_heads, shape.value_dim}, at::kFloat)};
  parallel_tasks(shape.num_key_heads, 4 * layer.work(), 0, [&](std::int64_t head, float*) {
    HeadBackward(layer, segments, head)
        .run(output_gradient, to,
             {.conv = to.conv.mutable_data_ptr<float>(),
              .a_log = to.a_log.mutable_data_ptr<float>(),
              .dt_bias = to.dt_bias.mutable_data_ptr<float>(),
              .norm = to.norm.mutable_data_ptr<float>() + head * shape.value_dim});
  });
  const Tensors sums{to.conv, to.a_log, to.dt_bias, at::sum(to.norm, 0)};
  Tensors result{to.projected.to(saved[0].scalar_type())};
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const at::Tensor& weight = weights[i];
    result.push_back(weight.requires_grad() ? pass_gradient(weight, sums[i].to(weight.scalar_type())) : at::Tensor());
  }
  return result;
}
}  // namespace

at::Tensor cpu_delta_net(const DeltaShape& shape, float epsilon, const at::Tensor& projected,
                         const DeltaLayer& layer, const std::shared_ptr<CpuPass>& pass, KvStore* cache) {
  const DeltaWeights& weights = layer.weights;
  const Tensors list{weights.conv, weights.a_log, weights.dt_bias, weights.norm};
  CORISCO_ASSERT(projected.size(1) == shape.projected_width(),
                 cat(projected.size(1), " projected columns instead of ", shape.projected_width()));
  if (!at::GradMode::is_enabled()) {
    const at::Tensor states = cache ? cache->states.at(layer.index) : at::Tensor();
    return run_delta({shape, epsilon, projected, list}, pass->segments, states).to(projected.scalar_type());
  }
  return record({projected, list[0], list[1], list[2], list[3]}, [&]() -> Recorded {
    const at::Tensor output = run_delta({shape, epsilon, projected, list}, pass->segments, {});
    return {.outputs = {output.to(projected.scalar_type())},
            .saved = {projected, list[0], list[1], list[2], list[3]},
            .backward = [shape, epsilon, pass](const Tensors& saved, const Tensors& gradients) {
              return delta_backward(shape, epsilon, pass->segments, saved, gradients[0]);
            }};
  })[0];
}
}  // namespace corisco::model
