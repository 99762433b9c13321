// Merging by exact token prefix; the picture is above Sample in types/sample.h.
#include "corisco/samples/merge.h"

#include <algorithm>
#include <span>
#include <tuple>

namespace corisco::samples {
namespace {
using Tokens = std::span<const TokenId>;

bool is_prefix(Tokens prefix, Tokens whole) {
  // The last token is looked at first: siblings and retries share their beginnings.
  return prefix.size() <= whole.size() && (prefix.empty() || prefix.back() == whole[prefix.size() - 1]) &&
         std::equal(prefix.begin(), prefix.end(), whole.begin());
}

// The calls that are trained, by (turn, choice); the tokens of the others are counted.
std::vector<const Call*> trained_calls(const FinishedRollout& rollout, MergeReport& report) {
  std::vector<const Call*> trained;
  for (const Call& call : rollout.calls) {
    ++report.num_calls;
    if (!is_trained(rollout.outcome)) {
      report.num_invalid_tokens += call.tokens.size();
    } else if (!call.is_trainable) {
      report.num_untrainable_tokens += call.tokens.size();
    } else if (!call.is_delivered) {
      report.num_undelivered_tokens += call.tokens.size();
    } else if (!call.tokens.empty()) {
      trained.push_back(&call);
    }
  }
  std::sort(trained.begin(), trained.end(), [](const Call* a, const Call* b) {
    return std::tie(a->turn, a->choice, a->id) < std::tie(b->turn, b->choice, b->id);
  });
  return trained;
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
  Rows(RolloutId rollout, MergeLevel level, MergeReport& report)
      : rollout_(rollout), level_(level), report_(report) {}

  void add(const Call& call) {
    const bool may_continue = level_ == MergeLevel::trajectory;
    Sample* row = may_continue ? continued_by(call) : nullptr;
    if (row == nullptr) {
      if (may_continue) note_split(call);
      row = &start(call);
    }
    append_context(*row, call.prompt_ids);
    append_reply(*row, call);
    report_.num_trained_tokens += call.tokens.size();
    placed_.push_back({&call, static_cast<std::size_t>(row - rows_.data()), row->token_ids.size()});
  }
  std::vector<Sample> take() { return std::move(rows_); }

 private:
  // Where a call's reply ends.
  struct Placed {
    const Call* call;
    std::size_t row;
    std::size_t end;
  };

  // The longest row that the prompt begins with; the first among equals.
  Sample* continued_by(const Call& call) {
    Sample* best = nullptr;
    for (Sample& row : rows_) {
      const bool is_longer = best == nullptr || row.token_ids.size() > best->token_ids.size();
      if (is_longer && row.temperature == call.temperature && is_prefix(row.token_ids, call.prompt_ids)) {
        best = &row;
      }
    }
    return best;
  }

  Sample& start(const Call& call) {
    Sample& row = rows_.emplace_back();
    row.rollout = rollout_;
    row.branch = static_cast<std::uint32_t>(rows_.size() - 1);
    row.first_turn = call.turn;
    row.temperature = call.temperature;
    ++report_.num_rows;
    return row;
  }

  // The calls of the first turn begin the rollout; any later row is a split.
  void note_split(const Call& call) {
    if (placed_.empty() || placed_.front().call->turn == call.turn) return;
    SplitCause cause = SplitCause::prefix_changed;
    std::size_t longest = 0;
    for (const Placed& placed : placed_) {
      const Tokens row = rows_[placed.row].token_ids;
      if (placed.end <= longest || !is_prefix(row.first(placed.end), call.prompt_ids)) continue;
      longest = placed.end;
      cause = placed.end < row.size() ? SplitCause::forked : SplitCause::temperature_changed;
    }
    report_.splits.push_back(cause);
  }

  RolloutId rollout_;
  MergeLevel level_;
  MergeReport& report_;
  std::vector<Sample> rows_;
  std::vector<Placed> placed_;
};
}  // namespace

const char* to_string(SplitCause cause) {
  switch (cause) {
    case SplitCause::prefix_changed: return "prefix_changed";
    case SplitCause::forked: return "forked";
    case SplitCause::temperature_changed: return "temperature_changed";
  }
  return "prefix_changed";
}

std::vector<Sample> merge(const FinishedRollout& rollout, MergeLevel level, MergeReport& report) {
  Rows rows(rollout.spec.id, level, report);
  for (const Call* call : trained_calls(rollout, report)) rows.add(*call);
  return rows.take();
}
}  // namespace corisco::samples
