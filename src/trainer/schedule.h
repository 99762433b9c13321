// The learning rate of an update. Pure.
#pragma once
#include <cstdint>
#include <string>

namespace corisco::trainer {
struct Schedule {
  std::string kind = "constant";  // constant, linear, cosine
  double peak = 0;
  std::uint64_t warmup_updates = 0;
  std::uint64_t num_updates = 0;  // 0: unknown; constant after the warm-up
};

// update: from 0. Warm-up: peak (update + 1) / warmup_updates. Then the peak, falling to a tenth
// of it at update num_updates - 1 and staying there.
double learning_rate(const Schedule& schedule, std::uint64_t update);
}  // namespace corisco::trainer
