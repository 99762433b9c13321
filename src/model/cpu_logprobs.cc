// Log-probabilities of chosen tokens without ever holding all logits: chunks of rows, computed
// again in the backward. Row by row the same arithmetic as token_logprob() on logits().
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>

#include "model/cpu_ops.h"
#include "model/linear.h"
#include "model/parallel.h"
#include "model/recorded.h"
#include "model/row_logprob.h"

namespace corisco::model {
namespace {
constexpr std::int64_t kChunkRows = 128;  // a multiple of kTileRows

const kernels::Table& float_kernels() { return kernels::table(kernels::Storage::float32); }

at::Tensor chunk_logits(Products& products, const at::Tensor& hidden, const at::Tensor& head,
                        std::int64_t row) {
  const std::int64_t count = std::min(kChunkRows, hidden.size(0) - row);
  return products.wide(hidden.narrow(0, row, count), head);
}

struct Chosen {
  at::Tensor logprobs, log_sums;  // [N]
};

Chosen choose(Products& products, const at::Tensor& hidden, const at::Tensor& head,
              const std::vector<std::int64_t>& targets, float inverse_temperature) {
  const std::int64_t vocabulary = head.size(0);
  Chosen chosen{.logprobs = at::empty({hidden.size(0)}, at::kFloat),
                .log_sums = at::empty({hidden.size(0)}, at::kFloat)};
  float* logprobs = chosen.logprobs.mutable_data_ptr<float>();
  float* log_sums = chosen.log_sums.mutable_data_ptr<float>();
  for (std::int64_t first = 0; first < hidden.size(0); first += kChunkRows) {
    const at::Tensor logits = chunk_logits(products, hidden, head, first);
    parallel_ranges(logits.size(0), logits.numel(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const float* row_logits = logits.const_data_ptr<float>() + row * vocabulary;
        const float log_sum = float_kernels().log_sum_exp(row_logits, vocabulary, inverse_temperature);
        const float logit = row_logits[targets[static_cast<std::size_t>(first + row)]];
        log_sums[first + row] = log_sum;
        logprobs[first + row] = logprob_of(logit, inverse_temperature, log_sum);
      }
    });
  }
  return chosen;
}

// Rows whose gradient is 0 are left at 0 and cost only the product.
void to_gradient(const at::Tensor& logits, const float* log_sums, const std::int64_t* targets,
                 const float* gradients, float inverse_temperature) {
  const std::int64_t vocabulary = logits.size(1);
  parallel_ranges(logits.size(0), logits.numel(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      float_kernels().logprob_gradient(logits.mutable_data_ptr<float>() + row * vocabulary, vocabulary,
                                       inverse_temperature, log_sums[row], targets[row], gradients[row]);
    }
  });
}

// Gradients of hidden and head.
Tensors run_gradient(Products& products, const at::Tensor& hidden, const at::Tensor& head,
                     const at::Tensor& log_sums, const std::vector<std::int64_t>& targets,
                     float inverse_temperature, const at::Tensor& gradient) {
  const at::Tensor given = gradient.to(at::kFloat).contiguous();
  at::Tensor hidden_gradient = at::empty_like(hidden);
  GradientSum head_gradient(head);
  for (std::int64_t row = 0; row < hidden.size(0); row += kChunkRows) {
    at::Tensor logits = chunk_logits(products, hidden, head, row);
    to_gradient(logits, log_sums.const_data_ptr<float>() + row, targets.data() + row,
                given.const_data_ptr<float>() + row, inverse_temperature);
    logits = logits.to(head.scalar_type());
    at::Tensor rows = hidden_gradient.narrow(0, row, logits.size(0));
    rows.copy_(plain_product(logits, head));
    if (head.requires_grad()) head_gradient.add(logits, hidden.narrow(0, row, logits.size(0)));
  }
  return {hidden_gradient, head_gradient.take()};
}
}  // namespace

at::Tensor cpu_selected_logprobs(const std::shared_ptr<Products>& products, const at::Tensor& any_hidden,
                                 const at::Tensor& head, const std::vector<std::int64_t>& targets,
                                 float temperature) {
  const at::Tensor hidden = any_hidden.contiguous();
  const float inverse_temperature = 1.0F / temperature;
  if (!at::GradMode::is_enabled()) {
    return choose(*products, hidden, head, targets, inverse_temperature).logprobs;
  }
  return record({hidden, head}, [&]() -> Recorded {
    const Chosen chosen = choose(*products, hidden, head, targets, inverse_temperature);
    return {.outputs = {chosen.logprobs},
            .saved = {hidden, head, chosen.log_sums},
            .backward = [products, targets, inverse_temperature](const Tensors& saved,
                                                                 const Tensors& gradients) {
              return run_gradient(*products, saved[0], saved[1], saved[2], targets, inverse_temperature,
                                  gradients[0]);
            }};
  })[0];
}
}  // namespace corisco::model
