// Rows whose attention is computed together because they share almost all of their keys. Pure; no torch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "corisco/model/attention_plan.h"

namespace corisco::model {
// Rows first .. first + count - 1, each of which follows the one before: it has that row's keys, all of them
// or all but the oldest, and one more.
struct RowTile {
  std::int64_t first = 0, count = 0;
};

std::int64_t count_keys(const AttentionPlan& plan, std::size_t row);

// For each row of the plan whether it follows the row before it. Only keys count, not how spans cut them:
//   {0, 3} | {0, 4} | {1, 4} | {0, 2} {7, 1}  ->  no, yes, yes, no
std::vector<bool> rows_that_follow(const AttentionPlan& plan);

// All rows in their order, in tiles of at most rows_max.
std::vector<RowTile> cut_tiles(const std::vector<bool>& follows, std::int64_t rows_max);
}  // namespace corisco::model
