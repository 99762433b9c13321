#include "corisco/model/token_logprob.h"

#include "model/kernels/table.h"
#include "model/row_logprob.h"

namespace corisco::model {
float token_logprob(const float* logits, std::int64_t vocabulary, std::int64_t target, float temperature) {
  const float inverse_temperature = 1.0F / temperature;
  const auto& kernels = kernels::table(kernels::Storage::float32);
  const float log_sum = kernels.log_sum_exp(logits, vocabulary, inverse_temperature);
  return logprob_of(logits[target], inverse_temperature, log_sum);
}
}  // namespace corisco::model
