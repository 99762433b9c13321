// One pass for the sum, one for the rank and what is not finite, one for the alternatives.
#include "engine/prompt_logprobs.h"

#include <algorithm>
#include <limits>

#include "corisco/model/token_logprob.h"
#include "engine/candidates.h"
#include "engine/row_math.h"

namespace corisco::engine {
namespace {
// In the order of top_ids: the higher logit first, of equals the lower id.
std::uint32_t rank_of(const float* row, std::int64_t vocabulary, TokenId id) {
  const float own = row[id];
  std::uint32_t rank = 1;
  for (TokenId i = 0; i < id; ++i) rank += row[i] >= own ? 1 : 0;
  for (TokenId i = id + 1; i < vocabulary; ++i) rank += row[i] > own ? 1 : 0;
  return rank;
}

PromptLogprob score(const float* row, std::int64_t vocabulary, const ScoredRow& scored) {
  PromptLogprob made;
  made.logprob = std::numeric_limits<float>::quiet_NaN();
  if (!scan_row(row, vocabulary).is_finite) return made;
  made.logprob = model::token_logprob(row, vocabulary, scored.next, 1.0F);
  made.rank = rank_of(row, vocabulary, scored.next);
  // Differences to the own logit, as the sampler takes them; of a far less probable one they could round above 0.
  for (const TokenId id : top_ids(row, vocabulary, scored.num_top))
    made.top.push_back({id, std::min(0.0F, made.logprob + (row[id] - row[scored.next]))});
  return made;
}
}  // namespace

std::vector<PromptLogprob> score_rows(const float* logits, std::int64_t vocabulary, std::span<const ScoredRow> rows) {
  std::vector<PromptLogprob> made(rows.size());
  const auto num_rows = static_cast<std::int64_t>(rows.size());
#pragma omp parallel for schedule(static) if (num_rows > 1)
  for (std::int64_t i = 0; i < num_rows; ++i) made[i] = score(logits + i * vocabulary, vocabulary, rows[i]);
  return made;
}
}  // namespace corisco::engine
