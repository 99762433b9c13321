// Merging by exact token prefix; the picture is above Sample in types/sample.h.
#include "corisco/samples/merge.h"

#include <algorithm>
#include <span>
#include <tuple>

#include "corisco/types/token_ids.h"
#include "samples/branch_tree.h"

namespace corisco::samples {
namespace {
using Tokens = std::span<const TokenId>;

std::vector<const Call*> in_order(const std::vector<Call>& calls) {
  std::vector<const Call*> ordered;
  for (const Call& call : calls) ordered.push_back(&call);
  std::sort(ordered.begin(), ordered.end(), [](const Call* a, const Call* b) {
    return std::tie(a->turn, a->choice, a->id) < std::tie(b->turn, b->choice, b->id);
  });
  return ordered;
}

bool passes(std::size_t num_tokens, std::uint32_t limit) { return limit != 0 && num_tokens > limit; }

// A partial reply is not trained even if it arrived: where it was cut is not the policy's doing.
UntrainedReason reason_against(const Call& call, bool is_rollout_trained, const MergeLimits& limits) {
  const auto num_prompt = call.prompt_ids.size(), num_reply = call.tokens.size();
  if (!is_rollout_trained) return UntrainedReason::infrastructure;
  if (call.state == CallState::side) return UntrainedReason::side;
  if (!call.is_trainable || num_prompt == 0) return UntrainedReason::untrainable;   // nothing to predict from
  if (call.state == CallState::superseded) return UntrainedReason::superseded;
  if (call.state == CallState::aborted || call.finish == FinishReason::aborted) return UntrainedReason::aborted;
  if (!call.is_delivered) return UntrainedReason::undelivered;
  if (passes(num_prompt, limits.prompt_tokens_max)) return UntrainedReason::prompt_too_long;
  if (passes(num_reply, limits.reply_tokens_max)) return UntrainedReason::reply_too_long;
  if (passes(num_prompt + num_reply, limits.row_tokens_max)) return UntrainedReason::row_full;
  return UntrainedReason::none;
}

// Lengthens the row to the whole prompt, of which it holds the beginning.
void append_context(Sample& row, Tokens prompt) {
  const auto known = static_cast<std::ptrdiff_t>(row.token_ids.size());
  row.token_ids.insert(row.token_ids.end(), prompt.begin() + known, prompt.end());
  row.loss_mask.resize(prompt.size(), 0);
  row.sampled_logprobs.resize(prompt.size(), 0.0F);
  row.policy_versions.resize(prompt.size());
  row.call_index.resize(prompt.size(), -1);
}

void append_reply(Sample& row, const Call& call) {
  for (const SampledToken& token : call.tokens) {
    row.token_ids.push_back(token.id);
    row.loss_mask.push_back(1);
    row.sampled_logprobs.push_back(token.sampled_logprob);
    row.policy_versions.push_back(token.policy_version);
    row.call_index.push_back(static_cast<std::int32_t>(call.turn));
  }
}

// The rows of one rollout while they grow. A row always ends with the reply of its last call.
class Rows {
 public:
  Rows(RolloutId rollout, MergeLevel level) : rollout_(rollout), may_continue_(level == MergeLevel::trajectory) {}

  void train(const Call& call, CallAccount& account) {
    const auto prompt = call.prompt_ids.items();
    auto row = -1;
    if (may_continue_) {
      const auto found = tree_.find(prompt, call.temperature);
      row = found.row;
      if (row < 0) account.split = cause_of_split(call, found);
      const auto grown_row = row < 0 ? static_cast<std::int32_t>(rows_.size()) : row;
      tree_.add(found, prompt, token_ids(call.tokens), {.row = grown_row, .temperature = call.temperature});
    }
    Sample& grown = row < 0 ? start(call) : rows_[static_cast<std::size_t>(row)];
    append_context(grown, prompt);
    append_reply(grown, call);
    account.branch = static_cast<std::int32_t>(grown.branch);
    account.row_begin = static_cast<std::uint32_t>(prompt.size());
  }

  // An untrained call makes no row, but others may go on from it.
  void pass(const Call& call) {
    if (!may_continue_) return;
    const auto prompt = call.prompt_ids.items();
    const auto found = tree_.find(prompt, call.temperature);
    const auto split = found.row < 0 ? cause_of_split(call, found) : SplitCause::none;
    tree_.add(found, prompt, token_ids(call.tokens), {.split = split});
  }
  std::vector<Sample> take() { return std::move(rows_); }

 private:
  Sample& start(const Call& call) {
    Sample& row = rows_.emplace_back();
    row.rollout = rollout_;
    row.branch = static_cast<std::uint32_t>(rows_.size() - 1);
    row.first_turn = call.turn;
    row.temperature = call.temperature;
    return row;
  }

  // The calls of the first turn begin the rollout; any later row is a split. What the gateway saw to be
  // different says more than that the tokens are.
  SplitCause cause_of_split(const Call& call, const BranchTree::Found& found) const {
    if (rows_.empty() || rows_.front().first_turn == call.turn) return SplitCause::first;
    if (found.is_at_other_temperature) return SplitCause::temperature_changed;
    if (is_split(call.split)) return call.split;
    if (is_split(found.split)) return found.split;
    return found.has_call ? SplitCause::forked : SplitCause::prefix_changed;
  }

  const RolloutId rollout_;
  const bool may_continue_;
  std::vector<Sample> rows_;
  BranchTree tree_;
};
}  // namespace

Merged merge(const FinishedRollout& rollout, MergeLevel level, const MergeLimits& limits) {
  Merged merged;
  Rows rows(rollout.spec.id, level);
  for (const Call* call : in_order(rollout.calls)) {
    CallAccount& account = merged.accounts.emplace_back();
    account.call = call->id;
    account.turn = call->turn;
    account.choice = call->choice;
    account.num_tokens = static_cast<std::uint32_t>(call->tokens.size());
    if (call->tokens.empty()) continue;
    account.reason = reason_against(*call, is_trained(rollout), limits);
    if (account.reason == UntrainedReason::none) {
      rows.train(*call, account);
    } else {
      rows.pass(*call);
    }
  }
  merged.rows = rows.take();
  return merged;
}
}  // namespace corisco::samples
