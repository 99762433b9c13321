// Merging as its definition says it, without regard to time: what merge() is compared with.
#pragma once
#include <algorithm>
#include <tuple>
#include <vector>

#include "corisco/samples/merge.h"

namespace corisco::samples {
// In the order of (turn, choice).
inline std::vector<const Call*> trained_calls(const FinishedRollout& rollout, const MergeLimits& limits) {
  std::vector<const Call*> trained;
  for (const Call& call : rollout.calls) {
    const auto num_prompt = call.prompt_ids.size(), num_reply = call.tokens.size();
    const bool arrived = call.state == CallState::used && call.finish != FinishReason::aborted && call.is_delivered;
    const bool fits = (limits.prompt_tokens_max == 0 || num_prompt <= limits.prompt_tokens_max) &&
                      (limits.reply_tokens_max == 0 || num_reply <= limits.reply_tokens_max) &&
                      (limits.row_tokens_max == 0 || num_prompt + num_reply <= limits.row_tokens_max);
    const bool is_policy = is_trained(rollout) && call.is_trainable && num_prompt > 0 && num_reply > 0;
    if (arrived && fits && is_policy) trained.push_back(&call);
  }
  std::ranges::sort(trained, {}, [](const Call* call) { return std::tuple(call->turn, call->choice); });
  return trained;
}

// The token ids of the rows of a trajectory: each call's prompt is held against every row.
inline std::vector<std::vector<TokenId>> plain_merge(const FinishedRollout& rollout, const MergeLimits& limits) {
  std::vector<std::vector<TokenId>> rows;
  std::vector<float> temperatures;
  for (const Call* call : trained_calls(rollout, limits)) {
    auto whole = call->prompt_ids.items();
    std::size_t best = rows.size();
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (temperatures[r] != call->temperature || rows[r].size() > whole.size()) continue;
      if (!std::equal(rows[r].begin(), rows[r].end(), whole.begin())) continue;
      if (best == rows.size() || rows[r].size() > rows[best].size()) best = r;
    }
    for (const auto& token : call->tokens) whole.push_back(token.id);
    if (best == rows.size()) {
      rows.push_back(whole);
      temperatures.push_back(call->temperature);
    } else {
      rows[best] = whole;
    }
  }
  return rows;
}
}  // namespace corisco::samples
