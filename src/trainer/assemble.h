// A batch of groups -> training rows and their trained tokens, each with its share of the loss.
// Pure; owned by the update in progress on the device thread. Never forwards anything.
#pragma once
#include <cstdint>
#include <vector>

#include "corisco/trainer/advantage.h"
#include "corisco/types/sample.h"

namespace corisco::trainer {
// A token with loss_mask 1 in a row that is forwarded.
struct TrainedToken {
  TokenId id = 0;
  double sampled_logprob = 0;
  double advantage = 0;   // of its rollout
  double weight = 0;      // 1 / (R T): rollouts of the batch, trained tokens of its rollout
  std::uint64_t age = 0;  // versions between its sampling and now
};

// A row that is forwarded. Its trained tokens are tokens[first_token, first_token + num_tokens),
// in the order of their positions.
struct TrainRow {
  const Sample* sample = nullptr;  // in Assembly::batch
  std::size_t first_token = 0, num_tokens = 0;
  // Tokens to forward: those before the last trained one, which is predicted but predicts nothing.
  std::size_t forward_length = 0;
};

// L = (1/R) sum over rollouts of (1/T of the rollout) sum over its trained tokens of l.
//   two valid rollouts, R = 2: one row with 4 trained tokens, weights 1/8 each;
//                              rows with 2, 2 and 4, weights 1/16 each; either weighs 1/2 in all.
struct Assembly {
  Assembly() = default;
  Assembly(Assembly&&) = default;
  Assembly& operator=(Assembly&&) = default;

  TrainBatch batch;  // ordered by (task occurrence, sibling, branch)
  std::vector<TrainRow> rows;
  std::vector<TrainedToken> tokens;
  bool has_older_policy = false;  // a forwarded token was sampled from older weights
  UpdateReport report;            // the counts, rewards and ages of the whole batch
};

// R counts the valid rollouts of the batch, also those with zero advantage or without tokens.
// Rows of zero advantage are left out unless needs_every_row, for a term besides the advantage's.
Assembly assemble(TrainBatch batch, PolicyVersion current, AdvantageKind kind, bool needs_every_row);
}  // namespace corisco::trainer
