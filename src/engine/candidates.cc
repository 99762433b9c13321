// Partial selection: the candidates are cut by nth_element, and only what top-p walks is sorted.
#include "engine/candidates.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace corisco::engine {
namespace {
constexpr std::size_t kFirstWalk = 1024;   // candidates that top-p sorts at first; then times 8

struct Before {
  const float* logits;
  bool operator()(TokenId a, TokenId b) const {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
  }
};

// Leaves the n first of the order, unsorted.
void keep_first(std::vector<TokenId>& ids, std::size_t n, Before before) {
  if (n >= ids.size()) return;
  std::nth_element(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n), ids.end(), before);
  ids.resize(n);
}

// How many of the order top-p keeps. Sorts no more of ids than it walks over.
std::size_t walk_mass(std::vector<TokenId>& ids, const float* weights, double mass, Before before) {
  double reached = 0;
  std::size_t sorted = 0;
  for (std::size_t n = 0; n < ids.size(); ++n) {
    if (n == sorted) {
      const std::size_t walk = std::min(ids.size(), sorted == 0 ? kFirstWalk : sorted * 8);
      const auto from = ids.begin() + static_cast<std::ptrdiff_t>(sorted);
      const auto to = ids.begin() + static_cast<std::ptrdiff_t>(walk);
      if (to != ids.end()) std::nth_element(from, to, ids.end(), before);
      std::sort(from, to, before);
      sorted = walk;
    }
    if (n > 0 && reached >= mass) return n;
    reached += weights[ids[n]];
  }
  return ids.size();
}
}  // namespace

bool truncates(const SamplingParams& params) {
  return params.top_k > 0 || params.top_p < 1.0F || params.min_p > 0.0F;
}

std::vector<TokenId> keep_candidates(const SamplingParams& params, const float* logits,
                                     const float* weights, std::int64_t vocabulary, double total) {
  const Before before{logits};
  std::vector<TokenId> ids(static_cast<std::size_t>(vocabulary));
  std::iota(ids.begin(), ids.end(), 0);
  if (params.top_k > 0 && params.top_k < ids.size()) {
    keep_first(ids, params.top_k, before);
    std::sort(ids.begin(), ids.end());     // one order for the sum, whatever the selection left
    total = 0;
    for (const TokenId id : ids) total += weights[id];
  }
  if (params.top_p < 1.0F)
    ids.resize(walk_mass(ids, weights, static_cast<double>(params.top_p) * total, before));
  if (params.min_p > 0.0F) {
    // The largest weight is exp(0) = 1.
    const float least = std::min(params.min_p, 1.0F);
    std::erase_if(ids, [&](TokenId id) { return weights[id] < least; });
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::vector<TokenId> top_ids(const float* logits, std::int64_t vocabulary, std::uint32_t n) {
  const Before before{logits};
  std::vector<TokenId> best;               // sorted; n is small
  for (TokenId id = 0; id < vocabulary && n > 0; ++id) {
    if (best.size() == n && !before(id, best.back())) continue;
    if (best.size() == n) best.pop_back();
    best.insert(std::upper_bound(best.begin(), best.end(), id, before), id);
  }
  return best;
}
}  // namespace corisco::engine
