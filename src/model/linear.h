// Products with weight matrices on the CPU, so that a row's result does not depend on other rows.
// float32, and bfloat16 where the CPU does not multiply it natively: our own kernel on a packed copy of the
// weight, which is faster than the library's product at the row counts of decoding and has this property by
// construction. bfloat16 on other CPUs: that kernel for few rows, since it reads weights faster, and the
// library's for more; where the property is asked for, the library's in row tiles of one fixed shape alone.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <unordered_map>

namespace corisco::model {
constexpr std::int64_t kTileRows = 32;

// Whether our own product keeps the promise for weights of this type whatever the number of rows.
bool multiplies_by_own_kernel(at::ScalarType type);

// Owned by one decoder, on its device thread. The packed copies are derived from the weights: whoever
// writes a weight calls refresh(). A write that autograd has counted is noticed without it; the fused
// optimizer's is not counted.
class Products {
 public:
  // tile_rows: of types without a kernel of our own; 0: all rows at once.
  explicit Products(std::int64_t tile_rows) : tile_rows_(tile_rows) {}
  // x [T, in] weight [out, in] -> [T, out]; bias may be undefined. No autograd. The weight must
  // live as long as this object.
  at::Tensor operator()(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);
  // The same in float32, without rounding to x's type on the way where the kernel is our own.
  at::Tensor wide(const at::Tensor& x, const at::Tensor& weight);
  // The weight has changed: packs it again.
  void refresh(const at::Tensor& weight);

 private:
  struct Packed {
    at::Tensor panels;
    std::uint32_t version = 0;
  };
  bool is_own(const at::Tensor& weight, std::int64_t rows) const;
  const at::Tensor& packed(const at::Tensor& weight);
  void pack_now(const at::Tensor& weight, Packed& entry);

  const std::int64_t tile_rows_;
  std::unordered_map<const void*, Packed> packed_;  // by the weight's memory
};

// a b; bfloat16 on a CPU that does not multiply it natively goes through float32, where the library is fast.
at::Tensor plain_product(const at::Tensor& a, const at::Tensor& b);
// Adds gradient^T x to grad() of a leaf weight and returns undefined; of another tensor it returns it.
at::Tensor weight_gradient(const at::Tensor& weight, const at::Tensor& gradient, const at::Tensor& x);
// The same for a value that was computed already.
at::Tensor pass_gradient(const at::Tensor& parameter, const at::Tensor& gradient);
// A weight's gradient over chunks of rows: 16-bit weights' is summed in float32.
class GradientSum {
 public:
  explicit GradientSum(at::Tensor weight) : weight_(std::move(weight)) {}
  void add(const at::Tensor& gradient, const at::Tensor& x);
  at::Tensor take();                     // as weight_gradient
 private:
  at::Tensor weight_, sum_, wide_;
};

// x weight^T, tile by tile, the last one padded with zeros.
at::Tensor tiled_product(const at::Tensor& x, const at::Tensor& weight, std::int64_t tile_rows);
// Empty, or how this CPU's library breaks the promise of tiles for a weight of this shape: a row's
// result must be the same bits at every place of the tile and with any other rows beside it.
std::string tile_problem(const at::Tensor& weight, std::int64_t tile_rows);
}  // namespace corisco::model
