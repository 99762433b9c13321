#include "model/parallel.h"

#include <omp.h>

#include <memory>

namespace corisco::model {
namespace {
constexpr std::int64_t kWorkToShare = 32768;  // waking a thread costs about as much as this
}

int parallel_threads() {
  int threads = 1;
#pragma omp parallel
#pragma omp single
  threads = omp_get_num_threads();
  return threads;
}

void parallel_ranges(std::int64_t count, std::int64_t work,
                     const std::function<void(std::int64_t, std::int64_t)>& run) {
  if (count == 0) return;
  if (work < kWorkToShare || count == 1) return run(0, count);
#pragma omp parallel
  {
    const std::int64_t thread = omp_get_thread_num(), threads = omp_get_num_threads();
    const std::int64_t begin = count * thread / threads, end = count * (thread + 1) / threads;
    if (begin < end) run(begin, end);
  }
}

void parallel_tasks(std::int64_t count, std::int64_t work, std::int64_t scratch_floats,
                    const std::function<void(std::int64_t, float*)>& run) {
#pragma omp parallel if (work >= kWorkToShare && count > 1)
  {
    const auto scratch = std::make_unique_for_overwrite<float[]>(static_cast<std::size_t>(scratch_floats));
#pragma omp for schedule(dynamic, 1)
    for (std::int64_t task = 0; task < count; ++task) run(task, scratch.get());
  }
}
}  // namespace corisco::model
