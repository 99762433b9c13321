// The ATen side of a step. Gradients are off here and nothing is made in inference mode, so the
// weights and tables that training also touches stay normal tensors.
#include "engine/runner.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>

#include <exception>
#include <utility>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"

namespace corisco::engine {
Result<std::vector<DrawnToken>> Runner::run(StepInput input,
                                            std::span<const DrawRequest> requests) {
  CORISCO_ASSERT(input.logit_rows.size() == requests.size(),
                 cat(input.logit_rows.size(), " rows of logits, ", requests.size(), " draws"));
  try {
    return forward(input, requests);
  } catch (const std::exception& failure) {
    return Error{Code::internal, cat("a forward pass over ", input.forward.token_ids.size(),
                                     " tokens failed: ", failure.what())};
  }
}

std::vector<DrawnToken> Runner::forward(StepInput& input, std::span<const DrawRequest> requests) {
  const at::NoGradGuard no_grad;
  if (cache_.keys.empty()) cache_ = decoder_.make_kv_store(kv_rows_, num_states_);
  for (const auto& copy : input.resumes) cache_.copy_state(copy.from, copy.to);
  input.forward.cache = &cache_;
  at::Tensor hidden = decoder_.hidden(input.forward);                       // [T, H]
  for (const auto& copy : input.saves) cache_.copy_state(copy.from, copy.to);
  if (requests.empty()) return {};
  if (input.logit_rows.size() < input.forward.token_ids.size()) {
    const auto num_rows = static_cast<std::int64_t>(input.logit_rows.size());
    const at::Tensor rows = at::from_blob(input.logit_rows.data(), {num_rows}, at::kLong);
    hidden = at::index_select(hidden, 0, rows.to(hidden.device()));
  }
  const at::Tensor logits = decoder_.logits(hidden).to(at::kCPU).contiguous();  // [N, V] float
  CORISCO_ASSERT(logits.scalar_type() == at::kFloat &&
                     logits.size(0) == static_cast<std::int64_t>(requests.size()),
                 cat("logits of ", logits.size(0), " rows for ", requests.size(), " draws"));
  return draw_tokens(logits.const_data_ptr<float>(), logits.size(1), requests);
}
}  // namespace corisco::engine
