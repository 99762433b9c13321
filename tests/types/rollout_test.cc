// The states' table and the names that are wire names and metric labels.
#include "corisco/types/rollout.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

#include "corisco/types/sample.h"

namespace corisco {
namespace {
constexpr std::array kStates{RolloutState::queued, RolloutState::running, RolloutState::grading,
                             RolloutState::finished};

TEST(RolloutState, MovesAsTheTableSays) {
  // Rows from, columns to: queued, running, grading, finished.
  constexpr bool kAllowed[4][4] = {
      {false, true, false, true},    // queued: started, or cancelled before
      {true, false, true, true},     // running: tried again, graded, or ended without a grader
      {true, false, false, true},    // grading: tried again when the grader is broken
      {false, false, false, false},  // finished is for good
  };
  for (std::size_t from = 0; from < 4; ++from) {
    for (std::size_t to = 0; to < 4; ++to) {
      EXPECT_EQ(can_move(kStates[from], kStates[to]), kAllowed[from][to])
          << to_string(kStates[from]) << " -> " << to_string(kStates[to]);
    }
  }
}

TEST(Outcome, ThePolicysEndsAreTrainedAndTheMachinesAreNot) {
  for (const auto outcome :
       {Outcome::completed, Outcome::truncated, Outcome::timed_out, Outcome::limit_exceeded,
        Outcome::harness_crashed, Outcome::grader_failed, Outcome::no_reward}) {
    EXPECT_TRUE(is_trained(outcome)) << to_string(outcome);
  }
  for (const auto outcome : {Outcome::spawn_failed, Outcome::engine_failed, Outcome::grader_broken,
                             Outcome::daemon_restarted, Outcome::cancelled}) {
    EXPECT_FALSE(is_trained(outcome)) << to_string(outcome);
  }
}

TEST(Names, AreTheEnumeratorsThemselves) {
  EXPECT_STREQ(to_string(Outcome::completed), "completed");
  EXPECT_STREQ(to_string(Outcome::truncated), "truncated");
  EXPECT_STREQ(to_string(Outcome::timed_out), "timed_out");
  EXPECT_STREQ(to_string(Outcome::limit_exceeded), "limit_exceeded");
  EXPECT_STREQ(to_string(Outcome::harness_crashed), "harness_crashed");
  EXPECT_STREQ(to_string(Outcome::grader_failed), "grader_failed");
  EXPECT_STREQ(to_string(Outcome::no_reward), "no_reward");
  EXPECT_STREQ(to_string(Outcome::spawn_failed), "spawn_failed");
  EXPECT_STREQ(to_string(Outcome::engine_failed), "engine_failed");
  EXPECT_STREQ(to_string(Outcome::grader_broken), "grader_broken");
  EXPECT_STREQ(to_string(Outcome::daemon_restarted), "daemon_restarted");
  EXPECT_STREQ(to_string(Outcome::cancelled), "cancelled");
  EXPECT_STREQ(to_string(FinishReason::stop), "stop");
  EXPECT_STREQ(to_string(FinishReason::length), "length");
  EXPECT_STREQ(to_string(FinishReason::aborted), "aborted");
  EXPECT_STREQ(to_string(Mode::train), "train");
  EXPECT_STREQ(to_string(Mode::val), "val");
  EXPECT_STREQ(to_string(MergeLevel::transition), "transition");
  EXPECT_STREQ(to_string(MergeLevel::trajectory), "trajectory");
}

TEST(Ids, AreNoneAtZeroAndOrdered) {
  EXPECT_FALSE(RolloutId{});
  EXPECT_TRUE(RolloutId{1});
  EXPECT_LT((AttemptKey{RolloutId{1}, 2}), (AttemptKey{RolloutId{2}, 1}));
  EXPECT_LT((AttemptKey{RolloutId{2}, 1}), (AttemptKey{RolloutId{2}, 2}));
}
}  // namespace
}  // namespace corisco
