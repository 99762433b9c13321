// Partial selection: a bound from one pass leaves few candidates, nth_element cuts them, and only
// what top-p walks over is sorted.
#include "engine/candidates.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>

namespace corisco::engine {
namespace {
constexpr std::int64_t kPart = 256;
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

std::vector<TokenId> ids_from(const float* values, std::int64_t vocabulary, float least) {
  std::vector<TokenId> ids;
  for (TokenId id = 0; id < vocabulary; ++id)
    if (values[id] >= least) ids.push_back(id);
  return ids;
}

// A superset of the k first: at least k logits reach the k-th largest maximum of k or more parts.
std::vector<TokenId> k_first_or_more(const float* logits, std::int64_t vocabulary, std::uint32_t k) {
  std::vector<float> maxima;
  for (std::int64_t first = 0; first < vocabulary; first += kPart)
    maxima.push_back(*std::max_element(logits + first, logits + std::min(first + kPart, vocabulary)));
  if (maxima.size() < k) return ids_from(logits, vocabulary, std::numeric_limits<float>::lowest());
  std::nth_element(maxima.begin(), maxima.begin() + (k - 1), maxima.end(), std::greater<>());
  return ids_from(logits, vocabulary, maxima[k - 1]);
}

// A superset of the first that have this mass together: those above a weight, which is lowered
// until they have.
std::vector<TokenId> mass_or_more(const float* weights, std::int64_t vocabulary, double mass) {
  for (float least = 1e-2F; least > 1e-12F; least *= 1e-2F) {
    double reached = 0;
    auto ids = ids_from(weights, vocabulary, least);
    for (const TokenId id : ids) reached += weights[id];
    if (reached >= mass) return ids;
  }
  return ids_from(weights, vocabulary, 0.0F);
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
  const bool has_top_p = params.top_p < 1.0F;
  double mass = params.top_p * total;
  std::vector<TokenId> ids;
  if (params.top_k > 0 && params.top_k < vocabulary) {
    ids = k_first_or_more(logits, vocabulary, params.top_k);
    keep_first(ids, params.top_k, before);
    std::sort(ids.begin(), ids.end());     // one order for the sum, whatever the selection left
    mass = 0;
    for (const TokenId id : ids) mass += weights[id];
    mass *= params.top_p;
  } else {
    ids = has_top_p ? mass_or_more(weights, vocabulary, mass) : ids_from(weights, vocabulary, 0.0F);
  }
  if (has_top_p) ids.resize(walk_mass(ids, weights, mass, before));
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
