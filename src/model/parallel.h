// The model's own parallel loops (OpenMP), over the threads that use_threads() gave the calling thread.
// Which thread runs what never changes a result: tasks write to different places.
#pragma once
#include <cstdint>
#include <functional>

namespace corisco::model {
// Splits 0 .. count - 1 into one run per thread; serial when the work is too small to share.
// work: about how many numbers all items touch together.
void parallel_ranges(std::int64_t count, std::int64_t work,
                     const std::function<void(std::int64_t begin, std::int64_t end)>& run);

// Runs the tasks one by one as threads become free, each thread with scratch of its own.
void parallel_tasks(std::int64_t count, std::int64_t work, std::int64_t scratch_floats,
                    const std::function<void(std::int64_t task, float* scratch)>& run);

// Threads that a large loop takes now.
int parallel_threads();
}  // namespace corisco::model
