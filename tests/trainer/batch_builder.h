// Rows and batches for the trainer's tests, in few words.
#pragma once
#include <string>
#include <vector>

#include "corisco/types/sample.h"

namespace corisco::trainer {
// mask: "..x" has a trained third token. The logprobs are -1 - t / 16, exact in binary.
inline Sample make_row(std::vector<TokenId> ids, const std::string& mask, std::uint64_t version = 0) {
  Sample row;
  row.token_ids = std::move(ids);
  for (std::size_t t = 0; t < mask.size(); ++t) {
    const bool is_trained = mask[t] == 'x';
    row.loss_mask.push_back(is_trained);
    row.sampled_logprobs.push_back(is_trained ? -1.0F - static_cast<float>(t) / 16 : 0);
    row.policy_versions.push_back({is_trained ? version : 0});
    row.call_index.push_back(is_trained ? 0 : -1);
  }
  return row;
}

inline TrainRollout make_rollout(std::uint32_t sibling, double reward, std::vector<Sample> rows) {
  TrainRollout rollout;
  rollout.id = {sibling + 1};
  rollout.sibling = sibling;
  rollout.reward = reward;
  rollout.rows = std::move(rows);
  for (std::size_t i = 0; i < rollout.rows.size(); ++i)
    rollout.rows[i].branch = static_cast<std::uint32_t>(i);
  return rollout;
}

inline TrainGroup make_group(std::uint64_t occurrence, std::vector<TrainRollout> rollouts) {
  TrainGroup group;
  group.id = {occurrence + 1};
  group.task_occurrence = occurrence;
  group.rollouts = std::move(rollouts);
  return group;
}
}  // namespace corisco::trainer
