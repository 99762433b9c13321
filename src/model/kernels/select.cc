// Which kernel table runs here.
#include <cstring>

#include "model/kernels/table.h"

namespace corisco::model::kernels {
namespace {
bool runs_avx512() { return __builtin_cpu_supports("avx512f") != 0; }
bool runs_avx2() { return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0; }
}  // namespace

const Table& table(Storage storage) {
  if (runs_avx512()) return avx512::table(storage);
  return runs_avx2() ? avx2::table(storage) : baseline::table(storage);
}

const Table* table(const char* instruction_set, Storage storage) {
  if (std::strcmp(instruction_set, "baseline") == 0) return &baseline::table(storage);
  if (std::strcmp(instruction_set, "avx2") == 0 && runs_avx2()) return &avx2::table(storage);
  if (std::strcmp(instruction_set, "avx512") == 0 && runs_avx512()) return &avx512::table(storage);
  return nullptr;
}
}  // namespace corisco::model::kernels
