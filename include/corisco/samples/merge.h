// Calls of a rollout -> training rows. Pure, without torch.
#pragma once
#include <cstdint>
#include <vector>

#include "corisco/types/sample.h"

namespace corisco::samples {
// Why a call did not continue an earlier one.
enum class SplitCause : std::uint8_t {
  prefix_changed,       // no earlier call's tokens are a prefix of its prompt
  forked,               // it continues a call that another one continues already
  temperature_changed,  // it continues a call whose logprobs were taken at another temperature
};
const char* to_string(SplitCause cause);

struct MergeReport {
  std::uint32_t num_calls = 0, num_rows = 0;
  std::uint64_t num_trained_tokens = 0;
  // Sampled tokens left without a loss, each counted once, for the first reason that holds.
  std::uint64_t num_invalid_tokens = 0;        // of a rollout that ended for infrastructure reasons
  std::uint64_t num_untrainable_tokens = 0;    // greedy draws and side calls
  std::uint64_t num_undelivered_tokens = 0;
  std::vector<SplitCause> splits;
};

// transition: one row per call. trajectory: a call continues the branch whose tokens are the
// longest exact prefix of its prompt (over all branches, not only the last call's); the tokens
// between are context. Otherwise it starts a new row, its whole prompt being context.
// Every token of a delivered, trainable call has loss_mask 1 in exactly one row. Undelivered or
// untrainable calls make no row: where a later prompt holds their tokens, they are context like
// the rest of that prompt. The result does not depend on the order in which calls arrived, only on
// (turn, choice). The report is added to.
std::vector<Sample> merge(const FinishedRollout& rollout, MergeLevel level, MergeReport& report);
}  // namespace corisco::samples
