// A rollout from its opening to its end, and the group of siblings that it belongs to.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "corisco/types/call.h"

namespace corisco {
enum class Mode : std::uint8_t { train, val };
const char* to_string(Mode mode);

enum class RolloutState : std::uint8_t { queued, running, grading, finished };
const char* to_string(RolloutState state);
bool can_move(RolloutState from, RolloutState to);

// How a rollout ended. The first list is what a policy can bring about: trained, with the
// grader's reward or else the declared minimum. The second is the machine's doing: out of
// baseline and loss, and tried again.
enum class Outcome : std::uint8_t {
  completed,
  truncated,         // a token, turn, context or request cap was reached
  timed_out,
  limit_exceeded,    // memory or processes of the harness's tree
  harness_crashed,   // after its first delivered call
  grader_failed,     // on this workspace, though its self-check passed
  no_reward,         // ended well after a delivered call, but nothing gave a reward
  // --- infrastructure
  spawn_failed,      // also a harness that ends before its first delivered call
  engine_failed,
  grader_broken,     // its self-check failed
  daemon_restarted,
  cancelled,
};
const char* to_string(Outcome outcome);
constexpr bool is_trained(Outcome outcome) { return outcome <= Outcome::no_reward; }

// One execution of a harness on a task.
struct RolloutSpec {
  RolloutId id;
  GroupId group;
  std::uint64_t task_occurrence = 0;   // n-th task drawn in this run, from 0: the batch's order
  std::uint32_t sibling = 0;           // index in its group, from 0
  Mode mode = Mode::train;
  std::string task_id;                 // of the dataset row
  std::string task_json;               // the dataset row, as one JSON object
};

struct FinishedRollout {
  RolloutSpec spec;
  std::uint32_t attempt = 1;           // the attempt that counts
  Outcome outcome = Outcome::completed;
  std::optional<double> reward;        // always there if is_trained(outcome)
  std::string reward_note;             // what the grader said, or why the minimum was taken
  std::vector<Call> calls;             // of that attempt, by (turn, choice)
  double seconds = 0;                  // running time, without time at the gate
};

// How an attempt stands whose harness runs elsewhere, for those who read it over HTTP.
struct RolloutStatus {
  AttemptKey attempt;
  Mode mode = Mode::val;
  RolloutState state = RolloutState::queued;
  bool is_of_run = true;               // its task is one of the run's, not a caller's own
  std::string task_json;
  double opened_unix_seconds = 0;      // the rollout
  double changed_unix_seconds = 0;     // when state began
  std::optional<Outcome> outcome;      // once it has ended
  std::optional<double> reward;
  std::string note;                    // on reward or outcome
};

// Ends in their order; a reader goes on from next_after.
struct FinishedPage {
  std::vector<RolloutStatus> items;
  std::uint64_t next_after = 0;
  std::uint64_t total = 0;             // ends so far, those no longer kept too
};

// All siblings of one task, complete.
struct Group {
  GroupId id;
  std::uint64_t task_occurrence = 0;
  PolicyVersion opened_at;             // the version when the group was opened
  std::vector<FinishedRollout> rollouts;  // by sibling
};
}  // namespace corisco
