// The same source compiled for each instruction set and chosen when the program loads. Sixteen
// partial results, added in a fixed tree, give the same bits however wide the registers are.
#include "engine/row_math.h"

#include <algorithm>
#include <bit>
#include <cmath>

// The loader chooses before a sanitizer is ready.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
#define CORISCO_PER_CPU __attribute__((target_clones("avx2", "default")))
#else
#define CORISCO_PER_CPU
#endif

namespace corisco::engine {
namespace {
constexpr std::int64_t kLanes = 16;
constexpr std::int32_t kFarthest = std::bit_cast<std::int32_t>(87.0F);  // exp of less is denormal

// e^x for x <= 0: x = n ln 2 + r with |r| <= ln 2 / 2, the Taylor polynomial of e^r to r^7
// (remainder under 6e-9), and 2^n put into the exponent bits. ln 2 in two parts keeps r exact.
// Bounds are integer operations on the bits: a float comparison could trap, and keeps the
// compiler from vectorising.
[[gnu::always_inline]] inline float exp_not_positive(float x) {
  const std::int32_t magnitude = std::bit_cast<std::int32_t>(x) & 0x7fffffff;
  const float bounded = -std::bit_cast<float>(magnitude < kFarthest ? magnitude : kFarthest);
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding and subtracting it rounds
  const float n = (bounded * 1.44269504F + kRound) - kRound;
  const float r = (bounded - n * 0.693359375F) - n * -2.12194440e-4F;
  float p = 1.0F / 5040;
  p = p * r + 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const std::int32_t keep = -static_cast<std::int32_t>(magnitude < kFarthest);
  return p * std::bit_cast<float>(((static_cast<std::int32_t>(n) + 127) << 23) & keep);
}

[[gnu::always_inline]] inline float add_lanes(const float* lanes) {
  float sums[kLanes];
  std::copy_n(lanes, kLanes, sums);
  for (std::int64_t width = kLanes / 2; width > 0; width /= 2)
    for (std::int64_t i = 0; i < width; ++i) sums[i] += sums[i + width];
  return sums[0];
}
}  // namespace

CORISCO_PER_CPU RowScan scan_row(const float* logits, std::int64_t vocabulary) {
  float maxima[kLanes];
  float zeros[kLanes];                   // x * 0 is 0 for finite x, else not a number
  std::fill_n(maxima, kLanes, logits[0]);
  std::fill_n(zeros, kLanes, 0.0F);
  const std::int64_t whole = vocabulary / kLanes * kLanes;
  for (std::int64_t i = 0; i < whole; i += kLanes) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      const float x = logits[i + lane];
      maxima[lane] = x > maxima[lane] ? x : maxima[lane];
      zeros[lane] += x * 0.0F;
    }
  }
  for (std::int64_t i = whole; i < vocabulary; ++i) {
    maxima[i - whole] = std::max(maxima[i - whole], logits[i]);
    zeros[i - whole] += logits[i] * 0.0F;
  }
  return {*std::max_element(maxima, maxima + kLanes), add_lanes(zeros) == 0.0F};
}

CORISCO_PER_CPU double exp_weights(const float* logits, std::int64_t vocabulary, float maximum,
                                   float temperature, float* weights, float* block_sums) {
  const float scale = 1.0F / temperature;
  double total = 0;
  for (std::int64_t block = 0; block < sum_blocks(vocabulary); ++block) {
    const std::int64_t first = block * kSumBlock;
    const std::int64_t length = std::min(kSumBlock, vocabulary - first);
    const float* from = logits + first;
    float* to = weights + first;
#pragma omp simd
    for (std::int64_t i = 0; i < length; ++i) to[i] = exp_not_positive((from[i] - maximum) * scale);
    float lanes[kLanes] = {};
    const std::int64_t whole = length / kLanes * kLanes;
    for (std::int64_t i = 0; i < whole; i += kLanes) {
#pragma omp simd
      for (std::int64_t lane = 0; lane < kLanes; ++lane) lanes[lane] += to[i + lane];
    }
    for (std::int64_t i = whole; i < length; ++i) lanes[i - whole] += to[i];
    block_sums[block] = add_lanes(lanes);
    total += block_sums[block];
  }
  return total;
}
}  // namespace corisco::engine
