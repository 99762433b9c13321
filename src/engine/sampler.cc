// One row: scan, weights, one uniform number, and the place where the cumulative sum passes it.
#include "engine/sampler.h"

#include <algorithm>
#include <cmath>

#include "corisco/base/random.h"
#include "corisco/model/decoder.h"
#include "engine/candidates.h"
#include "engine/row_math.h"

namespace corisco::engine {
namespace {
// Of one worker, for rows of one vocabulary.
struct Scratch {
  explicit Scratch(std::int64_t vocabulary)
      : weights(static_cast<std::size_t>(vocabulary)),
        block_sums(static_cast<std::size_t>(sum_blocks(vocabulary))) {}
  std::vector<float> weights, block_sums;
};

// The first i at which the sum of weights[ids[0..i]] exceeds target; rounding may leave a rest,
// which goes to the last token with a weight.
TokenId find_in(std::span<const TokenId> ids, const float* weights, double target) {
  TokenId last = ids.front();
  double reached = 0;
  for (const TokenId id : ids) {
    if (weights[id] <= 0) continue;
    last = id;
    reached += weights[id];
    if (reached > target) break;
  }
  return last;
}

// The same over the whole row, by its block sums first.
TokenId find_in_row(const Scratch& scratch, double target) {
  std::size_t block = 0, last_block = 0;
  double reached = 0, before = 0;
  for (; block < scratch.block_sums.size(); ++block) {
    if (scratch.block_sums[block] <= 0) continue;
    last_block = block;
    before = reached;
    reached += scratch.block_sums[block];
    if (reached > target) break;
  }
  const std::size_t first = last_block * kSumBlock;
  const std::size_t end = std::min(first + kSumBlock, scratch.weights.size());
  TokenId last = static_cast<TokenId>(first);
  reached = before;
  for (std::size_t i = first; i < end; ++i) {
    if (scratch.weights[i] <= 0) continue;
    last = static_cast<TokenId>(i);
    reached += scratch.weights[i];
    if (reached > target) break;
  }
  return last;
}

void draw_at_temperature(DrawnToken& drawn, const float* row, std::int64_t vocabulary,
                         const DrawRequest& request, float maximum, Scratch& scratch) {
  const SamplingParams& params = *request.sampling;
  const double total = exp_weights(row, vocabulary, maximum, params.temperature,
                                   scratch.weights.data(), scratch.block_sums.data());
  const double u = uniform(params.key, request.position);
  if (!truncates(params)) {
    drawn.id = find_in_row(scratch, u * total);
    drawn.sampled_logprob = model::token_logprob(row, vocabulary, drawn.id, params.temperature);
    drawn.drawn_logprob = drawn.sampled_logprob;
    return;
  }
  const auto kept = keep_candidates(params, row, scratch.weights.data(), vocabulary, total);
  double mass = 0;
  for (const TokenId id : kept) mass += scratch.weights[id];
  drawn.id = find_in(kept, scratch.weights.data(), u * mass);
  drawn.sampled_logprob = model::token_logprob(row, vocabulary, drawn.id, params.temperature);
  const double scaled = (static_cast<double>(row[drawn.id]) - maximum) / params.temperature;
  drawn.drawn_logprob = kept.size() == static_cast<std::size_t>(vocabulary)
                            ? drawn.sampled_logprob
                            : static_cast<float>(scaled - std::log(mass));
}

// Differences to the drawn token's logit spare a pass over the row for each alternative.
void add_top(DrawnToken& drawn, const float* row, std::int64_t vocabulary, std::uint32_t n,
             float temperature) {
  for (const TokenId id : top_ids(row, vocabulary, n)) {
    const float difference = (row[id] - row[drawn.id]) / temperature;
    drawn.top.push_back({id, drawn.sampled_logprob + difference});
  }
}

DrawnToken draw_row(const float* row, std::int64_t vocabulary, const DrawRequest& request,
                    Scratch& scratch) {
  DrawnToken drawn;
  const RowScan scan = scan_row(row, vocabulary);
  if (!scan.is_finite) return drawn;
  drawn.is_finite = true;
  const bool is_greedy = request.sampling->temperature < kGreedyBelow;
  if (is_greedy) {
    drawn.id = static_cast<TokenId>(std::find(row, row + vocabulary, scan.maximum) - row);
    drawn.sampled_logprob = model::token_logprob(row, vocabulary, drawn.id, 1.0F);
    drawn.drawn_logprob = drawn.sampled_logprob;
  } else {
    draw_at_temperature(drawn, row, vocabulary, request, scan.maximum, scratch);
  }
  add_top(drawn, row, vocabulary, request.sampling->top_logprobs,
          is_greedy ? 1.0F : request.sampling->temperature);
  return drawn;
}
}  // namespace

std::vector<DrawnToken> draw_tokens(const float* logits, std::int64_t vocabulary,
                                    std::span<const DrawRequest> requests) {
  std::vector<DrawnToken> drawn(requests.size());
  const auto num_rows = static_cast<std::int64_t>(requests.size());
#pragma omp parallel if (num_rows > 1)
  {
    Scratch scratch(vocabulary);
#pragma omp for schedule(static)
    for (std::int64_t i = 0; i < num_rows; ++i)
      drawn[i] = draw_row(logits + i * vocabulary, vocabulary, requests[i], scratch);
  }
  return drawn;
}
}  // namespace corisco::engine
