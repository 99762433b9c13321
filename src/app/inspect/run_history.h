// What became of everything that a run sampled, gathered from its journal: rollouts, groups, updates,
// and the accounts, which must balance: every sampled token was trained in one update, waits for one, or
// was dropped for one reason. Pure: reads records, prints nothing.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/inspect/update_history.h"
#include "corisco/config/config.h"
#include "corisco/samples/merge.h"
#include "corisco/samples/recovery.h"
#include "corisco/trainer/advantage.h"

namespace corisco::app {
struct Count {
  std::uint64_t calls = 0, tokens = 0;
  void add(std::uint64_t num_tokens) { *this += {1, num_tokens}; }
  Count& operator+=(const Count& other) {
    calls += other.calls;
    tokens += other.tokens;
    return *this;
  }
  friend bool operator==(const Count&, const Count&) = default;
};

// Of the tokens that have a loss: "trained"; "waiting", also for siblings that a resume runs again; or why
// no update trains them: group_superseded (its task was drawn again) or update_skipped. Empty where the
// rollout has none.
using Fate = std::string;

struct RolloutHistory {
  RolloutSpec spec;                      // task_json of the kept rollout alone
  std::uint32_t num_attempts = 0;
  std::optional<Outcome> outcome;        // none: it has not ended
  std::optional<double> reward, advantage;
  std::string note;
  double seconds = 0;
  Count sampled;                         // all attempts
  Count learnable;                       // have a loss: T of the loss is its tokens
  std::uint32_t num_rows = 0;
  std::map<std::string, Count> dropped;  // the others, by reason
  bool is_valid = false;                 // in baseline and loss: counts in R
  Fate fate;
  std::optional<std::size_t> update;     // that consumed its group: index in RunHistory::updates
};

struct GroupHistory {
  samples::GroupOpened opened;
  std::map<std::uint32_t, RolloutId> rollouts;   // by sibling
  bool is_complete = false, is_superseded = false;
  std::optional<std::size_t> update;
};

struct UpdateSummary {
  MadeUpdate made;
  std::string checkpoint;                // of these weights, in force
  std::uint32_t num_rollouts = 0;        // R of the loss
  std::uint64_t num_trained_tokens = 0;
  double reward_mean = 0;                // over R
};

// A call of the rollout that is looked at, in the order of attempts, turns and choices.
struct CallHistory {
  Call call;
  samples::CallAccount account;
  std::string dropped;                   // why; empty: it has the rollout's fate
};

struct RunHistory {
  samples::ReadReport read;
  bool is_running = false;
  std::map<RolloutId, RolloutHistory> rollouts;
  std::map<GroupId, GroupHistory> groups;
  std::vector<UpdateSummary> updates;    // void and skipped ones too
  Count produced, trained, waiting;
  std::map<std::string, Count> dropped;
  std::vector<std::string> problems;     // that a sound journal does not have
  std::vector<CallHistory> kept_calls;
  Count accounted() const;
  bool balances() const { return problems.empty() && produced == accounted(); }
};

struct HistoryOptions {
  config::Samples samples;
  trainer::AdvantageKind advantage = trainer::AdvantageKind::grpo;
  bool is_running = false;               // a daemon: rollouts that are open wait, else they died with it
  RolloutId kept;                        // whose calls are wanted
};

// Reads the source once. Memory grows with rollouts and open groups, not with tokens.
Result<RunHistory> gather_history(const samples::RecordSource& source, const HistoryOptions& options);
}  // namespace corisco::app
