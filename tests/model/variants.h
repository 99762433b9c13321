// One small decoder config for each kind of computation, for tests that hold for all of them.
#pragma once
#include <ostream>
#include <string>
#include <vector>

#include "corisco/model/config.h"

namespace corisco::testing {
struct Variant {
  std::string name;
  model::DecoderConfig config;
};
inline std::ostream& operator<<(std::ostream& out, const Variant& variant) { return out << variant.name; }

// Llama, Qwen2, Qwen3, Qwen3-MoE, windows, Qwen3.5 and Qwen3-Next, of the base's sizes; it has two layers.
inline std::vector<Variant> variants(const model::DecoderConfig& base) {
  std::vector<Variant> list;
  const auto add = [&](const char* name) -> model::DecoderConfig& {
    list.push_back({name, base});
    return list.back().config;
  };
  add("plain");
  add("query_key_value_bias").qkv_bias = true;
  add("head_norms").norms_heads = true;
  auto& window = add("window");
  window.sliding_window = 9;
  window.sliding_layers = {false, true};
  auto& experts = add("experts");
  experts.norms_heads = true;
  experts.num_experts = 5;
  experts.experts_per_token = 2;
  experts.expert_intermediate_size = 40;
  experts.expert_layers = {true, true};
  experts.normalises_expert_weights = true;
  auto& mixed = list.emplace_back("experts_in_one_layer", experts).config;
  mixed.expert_layers = {false, true};
  mixed.experts_per_token = 3;
  mixed.normalises_expert_weights = false;
  mixed.sliding_window = 11;
  mixed.sliding_layers = {true, true};
  auto& hybrid = add("hybrid");
  hybrid.norms_heads = hybrid.norms_from_one = hybrid.gates_attention = true;
  hybrid.rope.partial_factor = 0.4;
  hybrid.delta = {.num_key_heads = 2, .num_value_heads = 4, .key_dim = 8, .value_dim = 6, .kernel = 4};
  hybrid.linear_layers = {true, false};
  auto& next = list.emplace_back("hybrid_experts", hybrid).config;
  next.delta_rows_by_head = next.stacks_experts = true;
  next.num_experts = 5;
  next.experts_per_token = 2;
  next.expert_intermediate_size = 40;
  next.shared_expert_intermediate_size = 24;
  next.expert_layers = {true, true};
  next.normalises_expert_weights = true;
  return list;
}
}  // namespace corisco::testing
