#include "rollouts/reconcile.h"

#include <gtest/gtest.h>

namespace corisco::rollouts {
namespace {
using How = ProcessEnd::How;
constexpr TimePoint kStart{};

TimePoint after(double seconds) {
  return kStart + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

Seen seen(std::uint64_t rollout, RolloutState state) {
  return {{RolloutId{rollout}, 1}, state, false, false, kStart, 0};
}

// "s3 e1": starts 3, ends 1 for time.
std::string text_of(const std::vector<Step>& steps) {
  std::string text;
  for (const auto& step : steps) {
    if (!text.empty()) text += " ";
    if (const auto* start = std::get_if<StartAttempt>(&step)) {
      text += "s" + std::to_string(start->attempt.rollout.value);
    } else {
      text += "e" + std::to_string(std::get<EndForTime>(step).attempt.rollout.value);
    }
  }
  return text;
}

TEST(Reconcile, StartsTheOldestThatFit) {
  const std::vector<Seen> all = {seen(1, RolloutState::running), seen(2, RolloutState::queued),
                                 seen(3, RolloutState::grading), seen(4, RolloutState::queued),
                                 seen(5, RolloutState::queued)};
  EXPECT_EQ(text_of(reconcile(all, {2, 10, 10}, kStart)), "");
  EXPECT_EQ(text_of(reconcile(all, {3, 10, 10}, kStart)), "s2");
  EXPECT_EQ(text_of(reconcile(all, {9, 10, 10}, kStart)), "s2 s4 s5");
}

TEST(Reconcile, ExternalRolloutsTakeNoProcess) {
  auto external = seen(1, RolloutState::running);
  external.is_external = true;
  EXPECT_EQ(text_of(reconcile({external, seen(2, RolloutState::queued)}, {1, 10, 10}, kStart)), "s2");
  external.state = RolloutState::queued;
  EXPECT_EQ(text_of(reconcile({external}, {1, 10, 10}, after(100))), "") << "its harness comes for it";
}

TEST(Reconcile, TimeAtTheGateDoesNotCount) {
  auto held = seen(1, RolloutState::running);
  held.held_seconds = 5;
  const std::vector<Seen> all = {held, seen(2, RolloutState::running), seen(3, RolloutState::grading),
                                 seen(4, RolloutState::queued)};
  const Bounds bounds{3, 10, 20};
  EXPECT_EQ(text_of(reconcile(all, bounds, after(10))), "");
  EXPECT_EQ(text_of(reconcile(all, bounds, after(10.1))), "e2");
  EXPECT_EQ(text_of(reconcile(all, bounds, after(15.1))), "e1 e2");
  EXPECT_EQ(text_of(reconcile(all, bounds, after(20.1))), "e1 e2 e3");
}

TEST(Reconcile, EndsARolloutOnce) {
  auto ending = seen(1, RolloutState::running);
  ending.is_ending = true;
  EXPECT_EQ(text_of(reconcile({ending}, {1, 10, 10}, after(100))), "");
}

struct ClassCase {
  const char* name;
  HarnessEnd end;
  Outcome outcome;
};

TEST(Classify, FollowsWhoBroughtTheEndAbout) {
  // how, code, cancelled, timed out, calls, delivered, call cap, length, engine error
  const std::vector<ClassCase> cases = {
      {"good end", {How::exited, 0, false, false, 2, 2}, Outcome::completed},
      {"cap", {How::exited, 0, false, false, 2, 2, true}, Outcome::truncated},
      {"cap, then a crash over it", {How::exited, 1, false, false, 2, 2, true}, Outcome::truncated},
      {"length", {How::exited, 0, false, false, 2, 2, false, true}, Outcome::truncated},
      {"length, then a crash", {How::exited, 1, false, false, 2, 2, false, true}, Outcome::harness_crashed},
      {"crash after a call", {How::exited, 1, false, false, 1, 1}, Outcome::harness_crashed},
      {"signal after a call", {How::signalled, 11, false, false, 1, 1}, Outcome::harness_crashed},
      {"crash before a call", {How::exited, 1, false, false, 0, 0}, Outcome::spawn_failed},
      {"good end without a call", {How::exited, 0, false, false, 0, 0}, Outcome::spawn_failed},
      {"undelivered call", {How::exited, 1, false, false, 1, 0}, Outcome::spawn_failed},
      {"timeout", {How::killed, 0, false, true, 2, 2}, Outcome::timed_out},
      {"timeout, yet a good exit in the grace", {How::exited, 0, false, true, 2, 2}, Outcome::timed_out},
      {"timeout in the first reply", {How::killed, 0, false, true, 1, 0}, Outcome::timed_out},
      {"timeout without a call", {How::killed, 0, false, true, 0, 0}, Outcome::spawn_failed},
      {"over a limit", {How::over_limit, 9, false, false, 2, 2}, Outcome::limit_exceeded},
      {"over a limit before a call", {How::over_limit, 9, false, false, 0, 0}, Outcome::spawn_failed},
      {"not started", {How::not_started, 0, false, false, 0, 0}, Outcome::spawn_failed},
      {"engine", {How::exited, 0, false, false, 2, 1, false, false, true}, Outcome::engine_failed},
      {"cancelled", {How::killed, 0, true, true, 2, 2, true, true, true}, Outcome::cancelled},
  };
  for (const auto& one : cases) EXPECT_EQ(classify(one.end), one.outcome) << one.name;
}

TEST(Judge, GivesARewardOrTheMinimum) {
  const Graded rewarded{Graded::How::rewarded, 0.7, "good"}, nothing{Graded::How::nothing, 0, "no file"},
      failed{Graded::How::failed, 0, "boom"}, not_started{Graded::How::not_started, 0, "gone"};
  const auto check = [](Outcome from, const Graded& graded, Outcome to, std::optional<double> reward) {
    const Verdict verdict = judge(from, graded, -1);
    EXPECT_EQ(verdict.outcome, to) << graded.note;
    EXPECT_EQ(verdict.reward, reward) << graded.note;
    EXPECT_NE(verdict.note.find(graded.note), std::string::npos);
  };
  check(Outcome::completed, rewarded, Outcome::completed, 0.7);
  check(Outcome::truncated, rewarded, Outcome::truncated, 0.7);
  check(Outcome::timed_out, rewarded, Outcome::timed_out, 0.7);
  check(Outcome::completed, nothing, Outcome::no_reward, -1);
  check(Outcome::truncated, nothing, Outcome::no_reward, -1);
  check(Outcome::timed_out, nothing, Outcome::timed_out, -1);
  check(Outcome::harness_crashed, nothing, Outcome::harness_crashed, -1);
  check(Outcome::completed, failed, Outcome::grader_failed, -1);
  check(Outcome::harness_crashed, failed, Outcome::harness_crashed, -1);
  check(Outcome::completed, not_started, Outcome::grader_broken, std::nullopt);
}

TEST(NextAfter, RetriesInfrastructureAlone) {
  EXPECT_EQ(next_after(Outcome::completed, false, 1, 3, true), Next::grade);
  EXPECT_EQ(next_after(Outcome::timed_out, false, 3, 3, true), Next::grade);
  EXPECT_EQ(next_after(Outcome::completed, true, 1, 3, true), Next::finish);
  EXPECT_EQ(next_after(Outcome::spawn_failed, false, 2, 3, true), Next::retry);
  EXPECT_EQ(next_after(Outcome::spawn_failed, false, 3, 3, true), Next::finish);
  EXPECT_EQ(next_after(Outcome::grader_broken, true, 1, 3, true), Next::retry);
  EXPECT_EQ(next_after(Outcome::spawn_failed, false, 1, 3, false), Next::finish);
  EXPECT_EQ(next_after(Outcome::cancelled, false, 1, 3, true), Next::finish);
}
}  // namespace
}  // namespace corisco::rollouts
