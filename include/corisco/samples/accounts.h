// Where the sampled tokens of a rollout's calls went: into a row of the training batch, or into none,
// for a counted reason. One account per call; merge() writes them, and the metrics, the alarm and
// `corisco inspect` read the same ones, so that they cannot disagree. Pure, without torch.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "corisco/types/sample.h"

namespace corisco::samples {
// Why a call's tokens have no loss: the first that holds, in this order.
enum class UntrainedReason : std::uint8_t {
  none,             // they have one
  infrastructure,   // the rollout ended by the machine's doing
  side,             // beside the task, or a sub-agent's that the config leaves out
  frozen,           // asked of a name that is served without being trained
  several_models,   // its rollout used several model names, and which is the policy was not declared
  untrainable,      // drawn greedily, or for validation
  superseded,       // the request was made again
  aborted,          // it ended before its reply did, whatever part of that was delivered
  undelivered,      // the peer was gone before the last byte
  prompt_too_long,  // samples.prompt_tokens_max
  reply_too_long,   // samples.reply_tokens_max
  row_full,         // prompt and reply pass samples.row_tokens_max
};
inline constexpr std::size_t kNumUntrainedReasons = 12;
const char* to_string(UntrainedReason reason);

// Whether a row that began so is one that could have been spared; the first rows of a rollout are none.
constexpr bool is_split(SplitCause cause) { return cause != SplitCause::none && cause != SplitCause::first; }

// One call.
//   turn 0: [1 2] -> [3 4]        branch 0, row_begin 2, split first
//   turn 1: [1 2 3 4 5] -> [6 7]  branch 0, row_begin 5, split none: it goes on
//   turn 2: [8] -> [9]            branch 1, row_begin 1, split history_dropped, as the call says
struct CallAccount {
  CallId call;
  std::uint32_t turn = 0, choice = 0;
  std::uint32_t num_tokens = 0;                     // sampled; a call without any has no branch and no reason
  UntrainedReason reason = UntrainedReason::none;
  std::int32_t branch = -1;                         // of the row that trains them; -1: none does
  std::uint32_t row_begin = 0;                      // where its reply begins in that row
  // Why it began that row. none: it goes on, or is in no row, or every call is a row (transition).
  SplitCause split = SplitCause::none;
};

// The sum of accounts, of any number of rollouts.
struct MergeReport {
  std::uint32_t num_rollouts = 0, num_calls = 0, num_rows = 0;
  std::uint32_t num_rollouts_no_row = 0;            // nothing of it is trained
  std::uint32_t num_rollouts_one_row = 0;           // the whole rollout in a single row
  std::uint64_t num_sampled_tokens = 0, num_trained_tokens = 0;
  std::array<std::uint64_t, kNumUntrainedReasons> num_untrained_tokens{};   // by reason; of none always 0
  std::map<SplitCause, std::uint32_t> splits;       // rows after a rollout's first, by why they began

  void add(const std::vector<CallAccount>& accounts);   // all of one rollout
  std::uint64_t untrained(UntrainedReason reason) const {
    return num_untrained_tokens[static_cast<std::size_t>(reason)];
  }
  // Every sampled token is in exactly one place: sampled = trained + the sum over the reasons.
  bool balances() const;
  // Of the sampled tokens, those of replies that never reached their client whole: undelivered, superseded
  // or aborted. What samples.undelivered_share_alarm watches.
  double undelivered_share() const;
};

// Whether the rollout is in baseline and loss at all.
bool is_trained(const FinishedRollout& rollout);
}  // namespace corisco::samples
