#include "corisco/samples/accounts.h"

#include <algorithm>
#include <numeric>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"

namespace corisco::samples {
const char* to_string(UntrainedReason reason) {
  switch (reason) {
    case UntrainedReason::none: return "none";
    case UntrainedReason::infrastructure: return "infrastructure";
    case UntrainedReason::side: return "side";
    case UntrainedReason::frozen: return "frozen";
    case UntrainedReason::several_models: return "several_models";
    case UntrainedReason::untrainable: return "untrainable";
    case UntrainedReason::superseded: return "superseded";
    case UntrainedReason::aborted: return "aborted";
    case UntrainedReason::undelivered: return "undelivered";
    case UntrainedReason::prompt_too_long: return "prompt_too_long";
    case UntrainedReason::reply_too_long: return "reply_too_long";
    case UntrainedReason::row_full: return "row_full";
  }
  CORISCO_ASSERT(false, cat("untrained reason ", static_cast<int>(reason)));
}

void MergeReport::add(const std::vector<CallAccount>& accounts) {
  std::int32_t last_branch = -1;
  for (const CallAccount& account : accounts) {
    ++num_calls;
    num_sampled_tokens += account.num_tokens;
    if (account.branch >= 0) {
      num_trained_tokens += account.num_tokens;
    } else {
      num_untrained_tokens[static_cast<std::size_t>(account.reason)] += account.num_tokens;
    }
    last_branch = std::max(last_branch, account.branch);
    if (is_split(account.split)) ++splits[account.split];
  }
  ++num_rollouts;
  num_rows += static_cast<std::uint32_t>(last_branch + 1);
  if (last_branch < 0) ++num_rollouts_no_row;
  if (last_branch == 0) ++num_rollouts_one_row;
  CORISCO_ASSERT(balances(), cat(num_sampled_tokens, " tokens sampled, ", num_trained_tokens, " trained, ",
                                 untrained(UntrainedReason::none), " left out for no reason"));
}

bool MergeReport::balances() const {
  const auto num_untrained =
      std::accumulate(num_untrained_tokens.begin(), num_untrained_tokens.end(), std::uint64_t{0});
  return untrained(UntrainedReason::none) == 0 && num_sampled_tokens == num_trained_tokens + num_untrained;
}

double MergeReport::undelivered_share() const {
  if (num_sampled_tokens == 0) return 0;
  const auto num_lost = untrained(UntrainedReason::undelivered) + untrained(UntrainedReason::superseded) +
                        untrained(UntrainedReason::aborted);
  return static_cast<double>(num_lost) / static_cast<double>(num_sampled_tokens);
}

bool is_trained(const FinishedRollout& rollout) {
  return corisco::is_trained(rollout.outcome) && rollout.reward.has_value();
}
}  // namespace corisco::samples
