// The ATen side of a step. Gradients are off here and nothing is made in inference mode, so the
// weights and tables that training also touches stay normal tensors.
#include "engine/runner.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"

namespace corisco::engine {
namespace {
// A chunk of a long prompt times the vocabulary may be hundreds of megabytes: rows are scored so many bytes at a time.
constexpr std::int64_t kScoredBytesMax = 32 << 20;
}  // namespace

Result<StepOutput> Runner::run(StepInput input, std::span<const DrawRequest> requests) {
  CORISCO_ASSERT(input.logit_rows.size() == requests.size(),
                 cat(input.logit_rows.size(), " rows of logits, ", requests.size(), " draws"));
  try {
    return forward(input, requests);
  } catch (const std::exception& failure) {
    return Error{Code::internal, cat("a forward pass over ", input.forward.token_ids.size(),
                                     " tokens failed: ", failure.what())};
  }
}

StepOutput Runner::forward(StepInput& input, std::span<const DrawRequest> requests) {
  const at::NoGradGuard no_grad;
  if (cache_.keys.empty()) cache_ = decoder_.make_kv_store(kv_rows_, num_states_);
  for (const auto& copy : input.resumes) cache_.copy_state(copy.from, copy.to);
  input.forward.cache = &cache_;
  const at::Tensor hidden = decoder_.hidden(input.forward);                 // [T, H]
  for (const auto& copy : input.saves) cache_.copy_state(copy.from, copy.to);
  StepOutput output;
  output.scored = score(hidden, input.scored_rows);
  if (requests.empty()) return output;
  const at::Tensor logits = logits_of(hidden, input.logit_rows);            // [N, V]
  output.drawn = draw_tokens(logits.const_data_ptr<float>(), logits.size(1), requests);
  return output;
}

std::vector<PromptLogprob> Runner::score(const at::Tensor& hidden, std::span<const ScoredRow> rows) {
  const std::int64_t row_bytes = decoder_.config().vocab_size * std::int64_t{sizeof(float)};
  const auto rows_max = static_cast<std::size_t>(std::max<std::int64_t>(1, kScoredBytesMax / row_bytes));
  std::vector<PromptLogprob> scored;
  while (!rows.empty()) {
    const auto some = rows.first(std::min(rows.size(), rows_max));
    std::vector<std::int64_t> places;
    for (const auto& one : some) places.push_back(one.row);
    const at::Tensor logits = logits_of(hidden, places);
    auto made = score_rows(logits.const_data_ptr<float>(), logits.size(1), some);
    std::move(made.begin(), made.end(), std::back_inserter(scored));
    rows = rows.subspan(some.size());
  }
  return scored;
}

// Of some of the pass's rows, in their order: [N, V] float.
at::Tensor Runner::logits_of(const at::Tensor& hidden, std::span<const std::int64_t> rows) {
  const auto num_rows = static_cast<std::int64_t>(rows.size());
  at::Tensor chosen = hidden;
  if (num_rows < hidden.size(0)) {
    std::vector<std::int64_t> places(rows.begin(), rows.end());
    const at::Tensor index = at::from_blob(places.data(), {num_rows}, at::kLong);
    chosen = at::index_select(hidden, 0, index.to(hidden.device()));
  }
  const at::Tensor logits = decoder_.logits(chosen).to(at::kCPU).contiguous();
  CORISCO_ASSERT(logits.scalar_type() == at::kFloat && logits.size(0) == num_rows,
                 cat("logits of ", logits.size(0), " rows for ", num_rows));
  return logits;
}
}  // namespace corisco::engine
