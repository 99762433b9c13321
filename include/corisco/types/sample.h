// Training rows, and the batch that one optimizer step consumes.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "corisco/types/rollout.h"

namespace corisco {
enum class MergeLevel : std::uint8_t { transition, trajectory };
const char* to_string(MergeLevel level);

// One row. A rollout makes one (a branch with an unbroken prefix) or many.
//
//   turn 0 (v5): prompt [P1]          reply [R1]
//   turn 1 (v6): prompt [P1 R1 E1]    reply [R2]
//   turn 2 (v6): prompt [P2]          reply [R3]      <- history was compacted: a split
//   trajectory -> row 0: token_ids [P1 R1 E1 R2]  loss_mask [0 1 0 1]  first_turn 0
//                 row 1: token_ids [P2 R3]        loss_mask [0 1]      first_turn 2
struct Sample {
  RolloutId rollout;
  std::uint32_t branch = 0;                  // index of the row in its rollout
  std::uint32_t first_turn = 0;
  std::vector<TokenId> token_ids;            // [T]
  std::vector<std::uint8_t> loss_mask;       // [T] 1 on sampled, trainable tokens only
  std::vector<float> sampled_logprobs;       // [T] 0 where loss_mask is 0
  std::vector<PolicyVersion> policy_versions;  // [T] 0 where loss_mask is 0
  std::vector<std::int32_t> call_index;      // [T] turn of the reply a token is from, -1 for context
  float temperature = 1.0F;                  // that sampled_logprobs were taken at
  // The experts that each token before the last went to, [T - 1, expert layers, experts per token], as
  // Call's. Empty: not recorded, of some token.
  std::vector<std::uint16_t> routed_experts;
};

// A rollout as the trainer sees it.
struct TrainRollout {
  RolloutId id;
  std::uint32_t sibling = 0;
  bool is_valid = true;                      // in baseline and loss; false for infrastructure ends
  double reward = 0;
  std::vector<Sample> rows;                  // by branch; may be empty (T = 0 contributes 0)
};

struct TrainGroup {
  GroupId id;
  std::uint64_t task_occurrence = 0;
  std::vector<TrainRollout> rollouts;        // by sibling
};

// Ordered by task occurrence, never by arrival.
struct TrainBatch {
  std::vector<TrainGroup> groups;
  double undelivered_share = 0;              // of the tokens sampled for it, those that reached nobody whole
};

// Policy ages that drift is told of apart: 1, 2, 3, and all above.
inline constexpr std::size_t kDriftAges = 4;

// What one published update did; the source of metrics.jsonl and of the progress line.
struct UpdateReport {
  PolicyVersion policy_version;              // after the update
  std::uint32_t num_groups = 0, num_rollouts = 0, num_rows = 0, num_micro_batches = 0;
  std::uint32_t num_constant_groups = 0;     // all rewards equal: no gradient
  std::uint64_t num_trained_tokens = 0, num_forwarded_tokens = 0;
  std::uint32_t num_unreplayed_rows = 0;     // forwarded with routing replay on, though none was recorded
  double reward_mean = 0, reward_std = 0;    // over valid rollouts
  double loss = 0, grad_norm = 0, learning_rate = 0;
  double clipped_fraction = 0;               // of trained tokens
  double kl_sampled = 0;                     // mean(sampled_logprob - logprob): k1 against the sampling policy
  double kl_reference = 0;                   // mean k3 against the initial weights; 0 when off
  double mismatch_mean = 0, mismatch_max = 0;  // |trainer - engine| logprob, age-0 tokens, before the step
  // The same of older tokens, by their age: what the weights have moved since, and rounding. 0: none were that old.
  std::array<double, kDriftAges> drift_means{};
  double rerouted_share = 0;                 // of replayed experts, those that the router would not choose
  double policy_age_mean = 0, policy_age_max = 0;  // in versions, per trained token
  double undelivered_share = 0;              // of the sampled tokens, those that reached nobody whole
  bool was_skipped = false;                  // nothing to learn from, or a non-finite gradient
  std::uint64_t weights_checksum = 0;        // of the weights after it; 0 of a skipped one, which left them alone
};
}  // namespace corisco
