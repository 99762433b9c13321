#include "model/parallel.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <set>

namespace corisco::model {
namespace {
// Without -fopenmp the loops would be silently serial.
TEST(Parallel, TwoThreadsRun) {
  omp_set_num_threads(2);
  EXPECT_EQ(parallel_threads(), 2);
}

TEST(Parallel, RangesCoverEachItemOnce) {
  omp_set_num_threads(2);
  for (const std::int64_t work : {10, 1000000}) {
    std::vector<std::atomic<int>> seen(1001);
    parallel_ranges(1001, work, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
    });
    for (const auto& count : seen) EXPECT_EQ(count, 1);
  }
}

TEST(Parallel, TasksRunOnceWithScratchOfTheirOwn) {
  omp_set_num_threads(2);
  std::vector<std::atomic<int>> seen(100);
  std::atomic<int> torn = 0;
  parallel_tasks(100, 1000000, 64, [&](std::int64_t task, float* scratch) {
    for (int i = 0; i < 64; ++i) scratch[i] = static_cast<float>(task);
    for (int i = 0; i < 64; ++i) torn += scratch[i] != static_cast<float>(task);
    ++seen[static_cast<std::size_t>(task)];
  });
  EXPECT_EQ(torn, 0);
  for (const auto& count : seen) EXPECT_EQ(count, 1);
}
}  // namespace
}  // namespace corisco::model
