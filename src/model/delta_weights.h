// What a gated DeltaNet layer has besides its two projections.
#pragma once
#include <ATen/core/Tensor.h>

namespace corisco::model {
struct DeltaWeights {
  at::Tensor conv;     // [mixed_width, 1, kernel]
  at::Tensor a_log;    // [num_value_heads]
  at::Tensor dt_bias;  // [num_value_heads]
  at::Tensor norm;     // [value_dim]
};
}  // namespace corisco::model
