// Lays rows of tokens out as one forward pass in which a beginning that rows share is computed
// once: a tree of runs, each row's path through it being the row itself.
//
//   rows [1 2 3 4], [1 2 5], [1 2 3]   ->  pass [1 2 3 4 5], positions [0 1 2 3 2]
//   row 1's last token attends to keys 0..1 (shared) and 4 (its own).
//
// Equal tokens that go to different experts are different ones: what follows them parts there.
// Pure bookkeeping; never reads weights.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "corisco/model/decoder.h"
#include "corisco/types/call.h"

namespace corisco::trainer {
struct TokenRow {
  std::span<const TokenId> ids;              // [T]
  std::span<const model::ExpertId> experts{};  // [T, width] to replay; empty: the router chooses

  std::size_t size() const { return ids.size(); }
  // Experts of a token over all layers.
  std::size_t width() const { return ids.empty() ? 0 : experts.size() / ids.size(); }
  std::span<const model::ExpertId> experts_of(std::size_t t) const { return experts.subspan(t * width(), width()); }
};

// Tokens at the beginning that both rows have, and send to the same experts.
std::size_t common_length(const TokenRow& a, const TokenRow& b);

struct Layout {
  model::ForwardInput input;
  // The row of the pass that computes token t of rows[i]: places[i][t].
  std::vector<std::vector<std::int32_t>> places;
};

// Children of a branch point come in the order of the rows that first take them. Where no row has experts,
// the input replays none.
Layout lay_out(const std::vector<TokenRow>& rows, bool share_prefixes);
}  // namespace corisco::trainer
