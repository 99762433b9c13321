#include "machine.h"

#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <omp.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "stopwatch.h"

namespace corisco::bench {
namespace {
constexpr int kPasses = 5;
constexpr std::size_t kNumbers = std::size_t{1} << 27;  // 512 MiB: beyond any cache
constexpr std::int64_t kSide = 1024;
constexpr std::size_t kChains = 64;                     // sums that don't wait for each other

__attribute__((target_clones("avx512f", "avx2", "default"))) float sum_of(const float* from, std::size_t count) {
  float sums[kChains] = {};
  for (std::size_t i = 0; i + kChains <= count; i += kChains) {
#pragma omp simd
    for (std::size_t k = 0; k < kChains; ++k) sums[k] += from[i + k];
  }
  return *std::max_element(sums, sums + kChains);
}
}  // namespace

double read_bytes_per_second(int threads) {
  const std::vector<float> numbers(kNumbers, 1.0F);
  std::vector<float> sums(static_cast<std::size_t>(threads));  // kept, so that the reading is not left out
  double seconds = 1e9;
  for (int pass = 0; pass < kPasses; ++pass) {
    const Stopwatch watch;
#pragma omp parallel num_threads(threads)
    {
      const auto thread = static_cast<std::size_t>(omp_get_thread_num());
      const std::size_t share = kNumbers / static_cast<std::size_t>(omp_get_num_threads());
      sums[thread] += sum_of(numbers.data() + thread * share, share);
    }
    seconds = std::min(seconds, watch.seconds());
  }
  return sums.front() > 0 ? static_cast<double>(kNumbers * sizeof(float)) / seconds : 0;
}

double product_flops_per_second() {
  const at::Tensor a = at::ones({kSide, kSide}), b = at::ones({kSide, kSide});
  double seconds = 1e9;
  for (int pass = 0; pass < 2 * kPasses; ++pass) {
    const Stopwatch watch;
    const at::Tensor product = at::mm(a, b);
    seconds = std::min(seconds, watch.seconds());
  }
  return 2.0 * kSide * kSide * kSide / seconds;
}
}  // namespace corisco::bench
