// Products with weight matrices, plain or in row tiles of one fixed size.
// A tile always has the same shape, the last one padded with zeros, so that the arithmetic of a
// row does not depend on how many rows there are.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

namespace corisco::model {
constexpr std::int64_t kTileRows = 32;

// x [T, in] weight [out, in] -> [T, out]; bias may be undefined. No autograd.
at::Tensor product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                   std::int64_t tile_rows);

// Adds gradient^T x to grad() of a leaf weight and returns undefined; of another tensor it returns it.
at::Tensor weight_gradient(const at::Tensor& weight, const at::Tensor& gradient, const at::Tensor& x);
// The same for a value that was computed already.
at::Tensor pass_gradient(const at::Tensor& parameter, const at::Tensor& gradient);

// Empty, or how this CPU's library breaks the promise of tiles for a weight of this shape: a row's
// result must be the same bits at every place of the tile and with any other rows beside it.
std::string tile_problem(const at::Tensor& weight, std::int64_t tile_rows);
}  // namespace corisco::model
