// One row: scan, changes, weights, one uniform number, and the place where the cumulative sum passes it.
#include "engine/sampler.h"

#include <algorithm>
#include <cmath>

#include "corisco/base/random.h"
#include "corisco/model/token_logprob.h"
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
  std::vector<float> changed;            // a copy of the row, if something changes it
};

// One row as the model made it, and as it is drawn from: the same unless something is asked for.
struct Row {
  const float* raw = nullptr;
  const float* drawn = nullptr;
  std::int64_t vocabulary = 0;
  float maximum = 0;                     // of drawn
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

void draw_at_temperature(DrawnToken& drawn, const Row& row, const DrawRequest& request, Scratch& scratch) {
  const SamplingParams& params = *request.sampling;
  const auto* weights = scratch.weights.data();
  double mass = exp_weights(row.drawn, row.vocabulary, row.maximum, params.temperature, scratch.weights.data(),
                            scratch.block_sums.data());
  const double u = uniform(params.key, request.position);
  bool is_whole = row.drawn == row.raw;
  if (!truncates(params)) {
    drawn.id = find_in_row(scratch, u * mass);
  } else {
    const auto kept = keep_candidates(params, row.drawn, weights, row.vocabulary, mass);
    is_whole = is_whole && kept.size() == static_cast<std::size_t>(row.vocabulary);
    mass = 0;
    for (const TokenId id : kept) mass += weights[id];
    drawn.id = find_in(kept, weights, u * mass);
  }
  drawn.sampled_logprob = model::token_logprob(row.raw, row.vocabulary, drawn.id, params.temperature);
  const double scaled = (static_cast<double>(row.drawn[drawn.id]) - row.maximum) / params.temperature;
  drawn.drawn_logprob = is_whole ? drawn.sampled_logprob : static_cast<float>(scaled - std::log(mass));
}

// The most probable token, of several the lowest; logprobs at temperature 1, without truncation.
void take_most_probable(DrawnToken& drawn, const Row& row, Scratch& scratch) {
  drawn.id = static_cast<TokenId>(std::find(row.drawn, row.drawn + row.vocabulary, row.maximum) - row.drawn);
  drawn.sampled_logprob = model::token_logprob(row.raw, row.vocabulary, drawn.id, 1.0F);
  drawn.drawn_logprob = drawn.sampled_logprob;
  if (row.drawn == row.raw) return;
  const double mass = exp_weights(row.drawn, row.vocabulary, row.maximum, 1.0F, scratch.weights.data(),
                                  scratch.block_sums.data());
  drawn.drawn_logprob = static_cast<float>(-std::log(mass));
}

// Differences to the drawn token's logit spare a pass over the row for each alternative.
void add_top(DrawnToken& drawn, const float* row, std::int64_t vocabulary, std::uint32_t n,
             float temperature) {
  for (const TokenId id : top_ids(row, vocabulary, n)) {
    const float difference = (row[id] - row[drawn.id]) / temperature;
    drawn.top.push_back({id, drawn.sampled_logprob + difference});
  }
}

Row change(Row row, const DrawRequest& request, Scratch& scratch) {
  scratch.changed.assign(row.raw, row.raw + row.vocabulary);
  change_logits(request, scratch.changed);
  row.drawn = scratch.changed.data();
  row.maximum = scan_row(row.drawn, row.vocabulary).maximum;
  return row;
}

DrawnToken draw_row(const float* logits, std::int64_t vocabulary, const DrawRequest& request,
                    Scratch& scratch) {
  DrawnToken drawn;
  const RowScan scan = scan_row(logits, vocabulary);
  drawn.is_finite = scan.is_finite;
  if (!drawn.is_finite) return drawn;
  Row row{logits, logits, vocabulary, scan.maximum};
  if (changes_logits(request)) row = change(row, request, scratch);
  drawn.has_choice = std::isfinite(row.maximum);
  if (!drawn.has_choice) return drawn;
  const bool is_greedy = request.sampling->temperature < kGreedyBelow;
  if (is_greedy) take_most_probable(drawn, row, scratch);
  else draw_at_temperature(drawn, row, request, scratch);
  add_top(drawn, logits, vocabulary, request.sampling->top_logprobs,
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
