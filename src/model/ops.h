// What a decoder is made of, on one kind of device: CpuOps runs our kernels, AtenOps plain ATen
// calls (any device, and the reference that the tests compare CpuOps with).
// With grad mode on every operation records autograd; the backward of a parameter adds to grad() of
// the leaf in place. Lives on the device thread.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "corisco/model/decoder.h"
#include "corisco/model/delta_shape.h"
#include "model/delta_weights.h"
#include "model/rope.h"

namespace corisco::model {
struct HeadShape {
  std::int64_t num_heads = 0, num_kv_heads = 0, head_dim = 0;
  std::int64_t query_width() const { return num_heads * head_dim; }
  std::int64_t kv_width() const { return num_kv_heads * head_dim; }
  std::int64_t qkv_width() const { return query_width() + 2 * kv_width(); }
};

struct OpsOptions {
  HeadShape heads;
  RopeFrequencies rope;        // of the front of each head; the rest of it is not turned
  DeltaShape delta;            // none: no layer is recurrent
  std::int64_t sliding_window = 0;
  float norm_epsilon = 1e-5F;
  float norm_offset = 0;       // added to the weights of norms
  std::int64_t tile_rows = 0;  // rows of each product of a linear; 0: all at once
};

struct AttentionLayer {
  std::size_t index = 0;    // of its keys and values in a cache
  bool is_sliding = false;
};

struct DeltaLayer {
  const DeltaWeights& weights;
  std::size_t index = 0;  // of its states in a cache
};

// What the layers of one pass share: angles, the attention plan in the form of the device,
// the one of the layers that slide, and which rows follow which.
struct Pass {
  virtual ~Pass() = default;
};

struct Normed {
  at::Tensor sum;     // hidden + addend
  at::Tensor output;  // its norm
};

class Ops {
 public:
  virtual ~Ops() = default;
  virtual std::shared_ptr<Pass> begin(const ForwardInput& input) const = 0;
  // After a change of this weight of a linear: derived copies are made now.
  virtual void refresh(const at::Tensor& weight) const = 0;
  virtual at::Tensor embed(const at::Tensor& weight, const std::vector<std::int64_t>& ids) const = 0;
  // addend may be undefined. Without grad mode hidden itself becomes the sum.
  virtual Normed norm(const at::Tensor& hidden, const at::Tensor& addend, const at::Tensor& weight) const = 0;
  // x weight^T + bias; bias may be undefined.
  virtual at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) const = 0;
  // hidden head^T in float32, without autograd.
  virtual at::Tensor logits(const at::Tensor& hidden, const at::Tensor& head) const = 0;
  // Each query and key head of qkv [T, qkv_width] by its own norm; the weights are [D]. Without grad
  // mode qkv is overwritten.
  virtual at::Tensor norm_heads(const at::Tensor& qkv, const at::Tensor& query_weight,
                                const at::Tensor& key_weight) const = 0;
  // qkv [T, qkv_width], overwritten -> [T, query_width]. cache: null, or where keys and values go.
  virtual at::Tensor attention(const at::Tensor& qkv, const std::shared_ptr<Pass>& pass, KvStore* cache,
                               const AttentionLayer& layer) const = 0;
  // A gated DeltaNet layer between its projections: [T, projected_width] -> [T, value_width]. cache: null, or
  // where the sequences' states lie.
  virtual at::Tensor delta_net(const at::Tensor& projected, const DeltaLayer& layer, const std::shared_ptr<Pass>& pass,
                               KvStore* cache) const = 0;
  virtual at::Tensor swiglu(const at::Tensor& gate_up) const = 0;  // [T, 2 I] -> [T, I]
  // x [T, W] times the sigmoid of gate, [T, W] or [T, 1].
  virtual at::Tensor gated(const at::Tensor& x, const at::Tensor& gate) const = 0;
  virtual at::Tensor selected_logprobs(const at::Tensor& hidden, const at::Tensor& head,
                                       const std::vector<std::int64_t>& targets, float temperature) const = 0;
};

std::unique_ptr<Ops> make_cpu_ops(OpsOptions options);
std::unique_ptr<Ops> make_aten_ops(OpsOptions options);
}  // namespace corisco::model
