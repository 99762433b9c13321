// What the controller should do next, from what it sees: pure, so tests and a simulator can drive it.
// Never: starts, kills or waits for anything itself.
#pragma once
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "corisco/base/clock.h"
#include "corisco/rollouts/sandbox.h"
#include "corisco/types/rollout.h"

namespace corisco::rollouts {
// One open rollout as the controller sees it now.
struct Seen {
  AttemptKey attempt;
  RolloutState state = RolloutState::queued;
  bool is_external = false;            // its harness runs elsewhere: takes no process
  bool is_ending = false;              // a kill is under way
  TimePoint since;                     // when its state began
  double held_seconds = 0;             // of the attempt, at the gate and in the engine's queue
};

struct Bounds {
  std::uint32_t processes_max = 1;
  std::uint32_t seconds_max = 1;       // running, without held time
  std::uint32_t grading_seconds_max = 1;
};

struct StartAttempt {
  AttemptKey attempt;
};
struct EndForTime {                    // the harness or its grader ran too long
  AttemptKey attempt;
};
using Step = std::variant<StartAttempt, EndForTime>;

// seen in the order of opening: the oldest queued rollout starts first. A rollout holds its
// process slot from its start until it has finished.
std::vector<Step> reconcile(const std::vector<Seen>& seen, const Bounds& bounds, TimePoint now);

// How a harness ended, for its class.
struct HarnessEnd {
  ProcessEnd::How how = ProcessEnd::How::exited;
  int code = 0;
  bool was_cancelled = false;
  bool was_timed_out = false;
  std::uint32_t num_calls = 0, num_delivered = 0;
  bool hit_cap = false, hit_length = false, saw_engine_error = false;
};
// DESIGN.md section 4, invariant 6.
Outcome classify(const HarnessEnd& end);

// What the reward's source gave.
struct Graded {
  enum class How : std::uint8_t {
    rewarded,
    nothing,                           // no reward file, no event
    failed,                            // the grader, or what it gave was refused
    not_started,                       // the grader could not run at all
  } how = How::nothing;
  double value = 0;
  std::string note;
};
struct Verdict {
  Outcome outcome = Outcome::completed;
  std::optional<double> reward;        // none for infrastructure outcomes
  std::string note;
};
// The final word on a rollout whose harness ended as outcome (of a trained class).
Verdict judge(Outcome outcome, const Graded& graded, double minimum);

enum class Next : std::uint8_t { grade, retry, finish };
// After a harness's end (has_verdict false) or a verdict (true).
Next next_after(Outcome outcome, bool has_verdict, std::uint32_t attempt, std::uint32_t attempts_max,
                bool can_retry);
}  // namespace corisco::rollouts
