// Merging by exact token prefix; the picture is above Sample in types/sample.h.
#include "corisco/samples/merge.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <unordered_map>

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
  if (call.state == CallState::frozen) return UntrainedReason::frozen;
  if (call.state == CallState::several_models) return UntrainedReason::several_models;
  if (!call.is_trainable || num_prompt == 0) return UntrainedReason::untrainable;   // nothing to predict from
  if (call.state == CallState::superseded) return UntrainedReason::superseded;
  if (call.state == CallState::aborted || call.finish == FinishReason::aborted) return UntrainedReason::aborted;
  if (!call.is_delivered) return UntrainedReason::undelivered;
  if (passes(num_prompt, limits.prompt_tokens_max)) return UntrainedReason::prompt_too_long;
  if (passes(num_reply, limits.reply_tokens_max)) return UntrainedReason::reply_too_long;
  if (passes(num_prompt + num_reply, limits.row_tokens_max)) return UntrainedReason::row_full;
  return UntrainedReason::none;
}

// Lengthens the row to the whole prompt, of which it holds the beginning. tail: what follows the prompt's
// first tokens, of which the row has all and perhaps more.
void append_context(Sample& row, std::size_t num_prompt, Tokens tail) {
  const auto missing = tail.last(num_prompt - row.token_ids.size());
  row.token_ids.insert(row.token_ids.end(), missing.begin(), missing.end());
  row.loss_mask.resize(num_prompt, 0);
  row.sampled_logprobs.resize(num_prompt, 0.0F);
  row.policy_versions.resize(num_prompt);
  row.call_index.resize(num_prompt, -1);
}

// What the row knows already stays: each sampled token is trained through what its own draw went through.
// The last token of the row's reply was first fed by the call that went on from it.
void append_routing(Sample& row, const Call& call) {
  const auto& from = call.routed_experts;
  if (from.size() < row.routed_experts.size()) return row.routed_experts.clear();   // not recorded
  const auto more = from.tail(row.routed_experts.size());
  row.routed_experts.insert(row.routed_experts.end(), more.begin(), more.end());
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
    const auto begun = may_continue_ ? row_begun_by(call) : Begun{};
    const auto tail = call.prompt_ids.tail(begun.num_tokens);
    auto row = -1;
    if (may_continue_) {
      const auto found = begun.row < 0 ? tree_.find(tail, call.temperature) : tree_.find_behind(begun.row, tail);
      row = found.row;
      if (row < 0) account.split = cause_of_split(call, found);
      const auto grown_row = row < 0 ? static_cast<std::int32_t>(rows_.size()) : row;
      tree_.add(found, tail, token_ids(call.tokens), {.row = grown_row, .temperature = call.temperature});
    }
    Sample& grown = row < 0 ? start(call) : rows_[static_cast<std::size_t>(row)];
    append_context(grown, call.prompt_ids.size(), tail);
    append_reply(grown, call);
    append_routing(grown, call);
    last_calls_[grown.branch] = &call;
    row_of_call_[call.id] = grown.branch;
    account.branch = static_cast<std::int32_t>(grown.branch);
    account.row_begin = static_cast<std::uint32_t>(call.prompt_ids.size());
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
    last_calls_.push_back(&call);
    return row;
  }

  // The row that ends with the call that this one says it goes on from, if its prompt begins with all of
  // that row: only what follows it is looked at. Row -1: the prompt is looked up from its first token.
  struct Begun {
    std::int32_t row = -1;
    std::size_t num_tokens = 0;
  };
  Begun row_begun_by(const Call& call) const {
    const auto found = call.base ? row_of_call_.find(call.base) : row_of_call_.end();
    if (found == row_of_call_.end()) return {};
    const auto row = found->second;
    const Call& last = *last_calls_[row];
    const auto num_prompt = last.prompt_ids.size(), num_row = num_prompt + last.tokens.size();
    const bool may_begin = last.id == call.base && last.temperature == call.temperature &&
                           call.prompt_ids.size() >= num_row &&
                           call.prompt_ids.shares_first(num_prompt, last.prompt_ids);
    if (!may_begin) return {};
    const auto rest = call.prompt_ids.tail(num_prompt);
    const auto is_id = [](TokenId id, const SampledToken& token) { return id == token.id; };
    const auto end = rest.begin() + static_cast<std::ptrdiff_t>(last.tokens.size());
    if (!std::equal(rest.begin(), end, last.tokens.begin(), is_id)) return {};
    return {static_cast<std::int32_t>(row), num_row};
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
  std::vector<const Call*> last_calls_;  // by row
  std::unordered_map<CallId, std::uint32_t> row_of_call_;
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
    } else if (call->state != CallState::frozen) {   // whose conversations are not the policy's
      rows.pass(*call);
    }
  }
  merged.rows = rows.take();
  return merged;
}
}  // namespace corisco::samples
