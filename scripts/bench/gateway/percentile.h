#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

namespace corisco::bench {
// The value below which that share of all lies (nearest rank); 0 of none. Sorts in place.
inline double percentile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  return values[std::min(rank, values.size() - 1)];
}
}  // namespace corisco::bench
