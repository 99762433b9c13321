// Calls of a rollout -> training rows. Pure, without torch.
#pragma once
#include <cstdint>
#include <vector>

#include "corisco/samples/accounts.h"
#include "corisco/types/sample.h"

namespace corisco::samples {
// In tokens; 0: no limit. A call beyond one of them makes no row and is counted; the others train as before.
struct MergeLimits {
  std::uint32_t prompt_tokens_max = 0;
  std::uint32_t reply_tokens_max = 0;
  std::uint32_t row_tokens_max = 0;
};

struct Merged {
  std::vector<Sample> rows;            // by branch
  std::vector<CallAccount> accounts;   // of every call, by (turn, choice)
};

// transition: one row per call. trajectory: a call continues the branch whose tokens are the
// longest exact prefix of its prompt (over all branches, not only the last call's); the tokens
// between are context. Otherwise it starts a new row, its whole prompt being context.
// Every token of a call without an UntrainedReason has loss_mask 1 in exactly one row; the other calls
// make no row: where a later prompt holds their tokens, they are context like the rest of that prompt.
// A row is as long as its last call's prompt and reply, so a branch stops growing at the last call within
// row_tokens_max, between calls and never inside a reply: rows shorter than a call's own context would
// train its tokens behind other ones than those they were sampled behind.
// The result does not depend on the order in which calls arrived, only on (turn, choice).
Merged merge(const FinishedRollout& rollout, MergeLevel level, const MergeLimits& limits = {});
}  // namespace corisco::samples
