// What this machine offers the model, and how many threads it gives.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "corisco/base/strings.h"
#include "corisco/model/decoder.h"
#include "model/kernels/table.h"

namespace corisco::model {
bool cpu_has_native_bfloat16() {
  return __builtin_cpu_supports("avx512bf16") != 0 || __builtin_cpu_supports("amx-bf16") != 0;
}

std::string capability_line(const Decoder& decoder) {
  const auto store = decoder.make_kv_store(1);
  const bool is_bfloat16 = store.keys.front().scalar_type() == at::kBFloat16;
  const char* type = is_bfloat16 ? "bfloat16" : "float32";
  if (!store.keys.front().device().is_cpu()) return cat("cuda, ", type);
  return cat(kernels::table(kernels::Storage::float32).instruction_set, ", ", at::get_num_threads(),
             " threads, ", type);
}

std::string device_problem(const std::string& device) {
  if (device == "cpu") return "";
  if (device != "cuda") return cat("model.device \"", device, "\" is not known; known: cpu, cuda");
  if (at::hasCUDA()) return "";
  if (!at::detail::getCUDAHooks().hasCUDART()) {
    return "model.device is cuda, but this is a build for the CPU: build with the cuda preset "
           "(cmake --preset cuda), or set model.device: cpu";
  }
  return "model.device is cuda, but no GPU was found: check the driver (nvidia-smi), or set model.device: "
         "cpu";
}

void use_threads(std::uint32_t threads) {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  at::set_num_threads(static_cast<int>(threads == 0 ? cores : threads));
  // The pool between operations is the process's, may be sized once, and is not used here.
  static std::once_flag sized;
  std::call_once(sized, [] { at::set_num_interop_threads(1); });
}
}  // namespace corisco::model
