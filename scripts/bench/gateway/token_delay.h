// How far behind its schedule each token of many streams came. Pure.
#pragma once
#include <vector>

namespace corisco::bench {
// The server gives every stream a token each period, all streams in one step, as decode steps do. When
// its steps happen is known only from what arrives: a stream's earliest arrival, counted back to its
// first token, tells at which point of the period the stream is served at best; the points of all
// streams lie in an arc behind the step itself, which is the arc's beginning, after the widest gap. A
// token's delay is then its arrival less its step: waiting behind the other streams' tokens counts.
//
// Two streams, period 20, arrivals {3, 23, 45} and {1, 21, 41}: the steps are at 1, 21 and 41, so the
// delays are {2, 2, 4} and {0, 0, 0}.
struct TokenDelays {
  std::vector<double> all, first;      // in the arrivals' unit; first: of each stream's first token
};
TokenDelays token_delays(const std::vector<std::vector<double>>& arrivals, double period);
}  // namespace corisco::bench
