// Lays rows of tokens out as one forward pass in which a beginning that rows share is computed
// once: a tree of runs, each row's path through it being the row itself.
//
//   rows [1 2 3 4], [1 2 5], [1 2 3]   ->  pass [1 2 3 4 5], positions [0 1 2 3 2]
//   row 1's last token attends to keys 0..1 (shared) and 4 (its own).
//
// Pure bookkeeping; never reads weights.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "corisco/model/decoder.h"
#include "corisco/types/call.h"

namespace corisco::trainer {
using TokenRow = std::span<const TokenId>;

// Tokens at the beginning that both rows have.
std::size_t common_length(TokenRow a, TokenRow b);

struct Layout {
  model::ForwardInput input;
  // The row of the pass that computes token t of rows[i]: places[i][t].
  std::vector<std::vector<std::int32_t>> places;
};

// Children of a branch point come in the order of the rows that first take them.
Layout lay_out(const std::vector<TokenRow>& rows, bool share_prefixes);
}  // namespace corisco::trainer
