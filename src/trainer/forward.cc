#include "trainer/forward.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>

namespace corisco::trainer {
at::Tensor trained_logprobs(model::Decoder& decoder, const MicroBatch& batch, std::uint64_t* num_rerouted) {
  model::ForwardInput input = batch.input;
  input.num_rerouted = num_rerouted;
  const at::Tensor hidden = decoder.hidden(input);  // [T, H]
  const auto num_targets = static_cast<std::int64_t>(batch.hidden_rows.size());
  const at::Tensor rows = at::from_blob(const_cast<std::int64_t*>(batch.hidden_rows.data()), {num_targets},
                                        at::TensorOptions(at::kLong))
                              .to(hidden.device());
  return decoder.selected_logprobs(hidden.index_select(0, rows), batch.target_ids, batch.temperature);
}

std::vector<double> to_doubles(const at::Tensor& values) {
  const at::Tensor host = values.detach().to(at::kCPU, at::kDouble).contiguous();
  const double* first = host.const_data_ptr<double>();
  return {first, first + host.numel()};
}

at::Tensor to_tensor(const std::vector<double>& values, const at::Tensor& like) {
  return at::from_blob(const_cast<double*>(values.data()), {static_cast<std::int64_t>(values.size())},
                       at::TensorOptions(at::kDouble))
      .to(like.options().requires_grad(false), /*non_blocking=*/false, /*copy=*/true);
}
}  // namespace corisco::trainer
