// Random attention plans over a paged cache, and the keys of their rows one by one.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "corisco/base/random.h"
#include "corisco/model/attention_plan.h"

namespace corisco::testing {
class Dice {
 public:
  explicit Dice(std::uint64_t key) : key_(key) {}
  double fraction() { return uniform(key_, drawn_++); }
  std::int32_t below(std::int32_t limit) { return static_cast<std::int32_t>(fraction() * limit); }

 private:
  std::uint64_t key_, drawn_ = 0;
};

constexpr std::int32_t kBlockRows = 5, kBlocks = 30, kSequences = 4;
constexpr std::int64_t kStoreRows = kBlockRows * kBlocks * kSequences;

// Each sequence's blocks, in an order of their own; sequence 1 shares its first four with sequence 0.
inline std::vector<std::vector<std::int32_t>> block_tables(Dice& dice) {
  std::vector<std::int32_t> blocks(kBlocks * kSequences);
  std::iota(blocks.begin(), blocks.end(), 0);
  for (std::size_t i = blocks.size() - 1; i > 0; --i) {
    std::swap(blocks[i], blocks[static_cast<std::size_t>(dice.below(static_cast<std::int32_t>(i) + 1))]);
  }
  std::vector<std::vector<std::int32_t>> tables;
  for (int s = 0; s < kSequences; ++s) {
    tables.emplace_back(blocks.begin() + s * kBlocks, blocks.begin() + (s + 1) * kBlocks);
  }
  std::copy_n(tables[0].begin(), 4, tables[1].begin());
  return tables;
}

// Rows for the tokens at positions from .. to - 1. A row's spans end at blocks and, in some rows, inside.
inline void add_rows(model::AttentionPlan& plan, const std::vector<std::int32_t>& table, std::int32_t from,
                     std::int32_t to, Dice& dice) {
  for (std::int32_t position = from; position < to; ++position) {
    const bool cuts = dice.below(3) == 0;
    for (std::int32_t p = 0; p <= position; p += kBlockRows) {
      model::KeySpan span{.first = table[static_cast<std::size_t>(p / kBlockRows)] * kBlockRows,
                   .length = std::min(kBlockRows, position + 1 - p)};
      if (cuts && span.length > 2) {
        plan.spans.push_back({span.first, 2});
        span = {span.first + 2, span.length - 2};
      }
      plan.spans.push_back(span);
    }
    plan.end_row();
  }
}

// Rows of at most 150 keys: a whole prompt, one that goes on from a shared prefix, a lone row, and a chunk
// behind cached tokens.
inline model::AttentionPlan random_plan(std::uint64_t seed) {
  Dice dice(seed);
  const auto tables = block_tables(dice);
  model::AttentionPlan plan;
  add_rows(plan, tables[0], 0, 21 + dice.below(20), dice);
  add_rows(plan, tables[1], 20, 30 + dice.below(20), dice);
  const std::int32_t lone = dice.below(120);
  add_rows(plan, tables[2], lone, lone + 1, dice);
  add_rows(plan, tables[3], 20 + dice.below(60), 110 + dice.below(40), dice);
  return plan;
}

inline std::vector<std::int32_t> keys_of(const model::AttentionPlan& plan, std::size_t row) {
  std::vector<std::int32_t> keys;
  for (auto s = static_cast<std::size_t>(plan.begin[row]); s < static_cast<std::size_t>(plan.begin[row + 1]); ++s) {
    for (std::int32_t k = 0; k < plan.spans[s].length; ++k) keys.push_back(plan.spans[s].first + k);
  }
  return keys;
}
}  // namespace corisco::testing
