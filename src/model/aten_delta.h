// Gated DeltaNet layers as plain ATen calls. Internal to AtenOps.
#pragma once
#include "model/ops.h"
#include "model/row_segments.h"

namespace corisco::model {
// See Ops::delta_net. Prompts and training go in chunks, single rows in the recurrent form.
at::Tensor aten_delta_net(const DeltaShape& shape, float epsilon, const at::Tensor& projected, const DeltaLayer& layer,
                          const RowSegments& segments, KvStore* cache);
}  // namespace corisco::model
