#include "model/hf/expert_config.h"

#include <algorithm>
#include <vector>

#include "corisco/base/strings.h"
#include "model/hf/json_field.h"

namespace corisco::model::hf {
namespace {
std::string expert_problem(const DecoderConfig& config) {
  if (config.num_experts < 1 || config.num_experts >= kRouterChooses) {
    return cat("num_experts is ", config.num_experts, "; it must be from 1 to ", kRouterChooses - 1);
  }
  if (config.experts_per_token < 1 || config.experts_per_token > config.num_experts) {
    return cat("num_experts_per_tok is ", config.experts_per_token, " of ", config.num_experts, " experts");
  }
  if (config.expert_intermediate_size < 1) {
    return cat("moe_intermediate_size is ", config.expert_intermediate_size, "; it must be at least 1");
  }
  return "";
}
}  // namespace

std::string read_experts(const nlohmann::json& json, const ExpertDefaults& defaults, DecoderConfig& config) {
  config.num_experts =
      field<std::int64_t>(json, "num_experts", field(json, "num_local_experts", defaults.num_experts));
  config.experts_per_token = field(json, "num_experts_per_tok", defaults.per_token);
  config.expert_intermediate_size = field(json, "moe_intermediate_size", defaults.intermediate_size);
  config.normalises_expert_weights = field(json, "norm_topk_prob", defaults.normalises);
  const auto step = field<std::int64_t>(json, "decoder_sparse_step", 1);
  if (step < 1) return cat("decoder_sparse_step is ", step, "; it must be at least 1");
  if (std::string problem = expert_problem(config); !problem.empty()) return problem;
  const auto dense = field<std::vector<std::int64_t>>(json, "mlp_only_layers", {});
  for (std::int64_t i = 0; i < config.num_layers; ++i) {
    config.expert_layers.push_back((i + 1) % step == 0 && std::ranges::find(dense, i) == dense.end());
  }
  return "";
}
}  // namespace corisco::model::hf
