// Passes over one row of logits that the compiler can vectorise, in a summation order that does
// not depend on the instruction set. Pure functions of float arrays; any thread.
#pragma once
#include <cstdint>

namespace corisco::engine {
struct RowScan {
  float maximum = 0;
  bool is_finite = false;                // no element is infinite or not a number
};
RowScan scan_row(const float* logits, std::int64_t vocabulary);

constexpr std::int64_t kSumBlock = 256;  // elements per partial sum
constexpr std::int64_t sum_blocks(std::int64_t vocabulary) {
  return (vocabulary + kSumBlock - 1) / kSumBlock;
}
// weights[i] = exp((logits[i] - maximum) / temperature), 0 up to e^-87; the relative error is that
// of the argument, rounded to float, and 2e-7.
// block_sums[b] = the sum of weights[256 b .. 256 b + 255]. Returns the sum of the block sums.
double exp_weights(const float* logits, std::int64_t vocabulary, float maximum, float temperature,
                   float* weights, float* block_sums);
}  // namespace corisco::engine
