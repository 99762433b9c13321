// How decoders come to be: from a folder or at random, with the checks that must hold first.
#include <set>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"
#include "model/kernels/table.h"
#include "model/linear.h"
#include "model/transformer.h"

namespace corisco::model {
namespace {
constexpr std::int64_t kGroupMax = kernels::kTileQueriesMax;  // query heads of one key head

at::ScalarType chosen_type(const std::string& dtype, const std::string& device) {
  if (dtype == "bfloat16") return at::kBFloat16;
  if (dtype == "float32") return at::kFloat;
  return device == "cuda" || cpu_has_native_bfloat16() ? at::kBFloat16 : at::kFloat;
}

std::string option_problem(const DecoderConfig& config, const config::Model& options, bool deterministic) {
  if (const std::string problem = device_problem(options.device); !problem.empty()) return problem;
  if (deterministic && options.device != "cpu") {
    return cat("engine.deterministic needs model.device: cpu; it is ", options.device);
  }
  if (config.num_heads / config.num_kv_heads > kGroupMax) {
    return cat("more than ", kGroupMax, " query heads share a key head");
  }
  return "";
}

// One weight of each shape. Our own product keeps the promise by construction.
std::string deterministic_problem(const DecoderWeights& weights) {
  if (multiplies_by_own_kernel(weights.head.scalar_type())) return "";
  std::set<std::vector<std::int64_t>> shapes;
  for (const auto& tensor : linear_weights(weights)) {
    if (!shapes.insert(tensor.sizes().vec()).second) continue;
    if (const std::string problem = tile_problem(tensor.detach(), kTileRows); !problem.empty())
      return problem;
  }
  return "";
}
}  // namespace

Result<std::unique_ptr<Decoder>> Decoder::load(const std::string& folder, const config::Model& options,
                                               bool deterministic) {
  CORISCO_TRY(DecoderConfig config, read_config(folder));
  CORISCO_CHECK(read_naming(folder, config));
  if (const std::string problem = option_problem(config, options, deterministic); !problem.empty()) {
    return Error{Code::invalid_argument, problem};
  }
  DecoderWeights weights = allocate_weights(config, chosen_type(options.dtype, options.device), options.device);
  CORISCO_CHECK(load_weights(folder, config, weights));
  if (deterministic) {
    if (const std::string problem = deterministic_problem(weights); !problem.empty()) {
      return Error{Code::unavailable, cat("engine.deterministic cannot be had on this CPU with ",
                                          options.threads, " threads (model.threads): ", problem)};
    }
  }
  const OpsKind kind = options.device == "cpu" ? OpsKind::own_kernels : OpsKind::aten;
  return std::unique_ptr<Decoder>(
      std::make_unique<Transformer>(std::move(config), std::move(weights), kind, deterministic));
}

std::unique_ptr<Decoder> Decoder::random(const DecoderConfig& config, const std::string& dtype,
                                         bool deterministic, std::uint64_t seed) {
  DecoderWeights weights = allocate_weights(config, chosen_type(dtype, "cpu"), "cpu");
  randomise_weights(config, weights, seed);
  if (deterministic) {
    const std::string problem = deterministic_problem(weights);
    CORISCO_ASSERT(problem.empty(), problem);
  }
  return std::make_unique<Transformer>(config, std::move(weights), OpsKind::own_kernels, deterministic);
}
}  // namespace corisco::model
