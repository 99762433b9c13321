// What `corisco inspect` gathers and shows of a journal, with numbers by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "app/find_run.h"
#include "app/inspect/json.h"
#include "app/inspect/text.h"
#include "app/journal_of_a_run.h"
#include "app/inspect/run_history.h"
#include "corisco/base/files.h"
#include "support/temporary_folder.h"

namespace corisco::app {
namespace {
using testing::HasSubstr;

AttemptKey of(std::uint64_t rollout, std::uint32_t attempt = 1) { return {RolloutId{rollout}, attempt}; }

// Two rollouts of two turns; the second one's second reply never arrived and its request was made again.
void add_trained_group(JournalOfARun& run) {
  run.group(1, 0, 2);
  run.rollout(1, 1, 0, 0);
  run.rollout(2, 1, 0, 1);
  run.call(1, of(1), 0, {1, 2}, {3, 4}).request_json = R"([{"role":"user","content":"a"}])";
  run.delivered(1, of(1));
  auto& next = run.call(2, of(1), 1, {1, 2, 3, 4, 5}, {6, 7, 8});
  next.request_json =
      R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}])";
  next.base = CallId{1};
  next.base_tokens = 4;
  run.call(3, of(2), 0, {1, 2}, {9});
  run.delivered(3, of(2));
  run.call(4, of(2), 1, {1, 2, 9, 5}, {10, 11});
  run.delivered(4, of(2), false, CallState::superseded);
  run.call(5, of(2), 2, {1, 2, 9, 5}, {12});
  run.delivered(5, of(2));
  run.end(1, 1, 1.0);
  run.delivered(2, of(1));               // its last byte was seen to be written after the end
  run.end(2, 1, 0.0);
  run.update(1, {GroupId{1}}, 0xabc);
  run.checkpoint(1, "/elsewhere/checkpoints/step-000001");
}

// One rollout with two branches, one with two attempts; trained by an update that was lost and made again.
void add_group_trained_again(JournalOfARun& run) {
  run.group(2, 1, 2, 1);
  run.rollout(3, 2, 1, 0);
  run.rollout(4, 2, 1, 1);
  run.call(6, of(3), 0, {1, 2}, {3});
  run.delivered(6, of(3));
  run.call(7, of(3), 1, {7}, {8, 9}).split = SplitCause::history_dropped;
  run.delivered(7, of(3));
  run.call(8, of(4), 0, {1, 2}, {3, 4, 5});
  run.delivered(8, of(4));
  run.attempt(4, 2);
  run.call(9, of(4, 2), 0, {1, 2}, {6});
  run.delivered(9, of(4, 2));
  run.end(3, 1, 0.5);
  run.end(4, 2, 0.5);
  run.update(2, {GroupId{2}}, 0x111);
}

// The whole run: killed once after version 2 and resumed from version 1, and killed again at the end.
JournalOfARun whole_run() {
  JournalOfARun run;
  add_trained_group(run);
  add_group_trained_again(run);
  run.group(3, 2, 2, 2);
  run.rollout(5, 3, 2, 0);
  run.rollout(6, 3, 2, 1);
  run.call(10, of(5), 0, {1, 2}, {3, 4});
  run.delivered(10, of(5));
  run.end(5, 1, 1.0);
  run.call(11, of(6), 0, {1, 2}, {3, 4, 5});
  run.group(6, 5, 1);
  run.rollout(10, 6, 5, 0);
  run.call(12, of(10), 0, {1}, {2, 3});
  run.delivered(12, of(10));
  run.end(10, 1, 1.0);
  run.resumed(1);
  run.update(2, {GroupId{2}}, 0x222);
  run.attempt(6, 2);
  run.call(13, of(6, 2), 0, {1, 2}, {3});
  run.end(6, 2, std::nullopt, Outcome::engine_failed);
  run.rollout(7, 0, 0, 0, Mode::val);
  run.call(14, of(7), 0, {1}, {2, 3, 4, 5});
  run.end(7, 1, 0.25);
  run.call(15, {}, 0, {1}, {2, 3, 4, 5, 6});
  run.group(5, 4, 1, 2);
  run.rollout(9, 5, 4, 0);
  run.call(16, of(9), 0, {1}, {2});
  run.delivered(16, of(9));
  run.end(9, 1, 1.0);
  run.update(2, {GroupId{5}}, 0, true);
  run.group(7, 5, 1, 2);                 // the task of group 6 again
  run.group(4, 3, 1, 2);
  run.rollout(8, 4, 3, 0);
  run.call(17, of(8), 0, {1}, {2, 3});
  return run;
}

RunHistory gathered(const JournalOfARun& run, std::uint64_t kept = 0, bool is_running = false) {
  return gather_history(run.source(), {{}, trainer::AdvantageKind::grpo, is_running, RolloutId{kept}}).value();
}

TEST(RunHistory, AccountsForEverySampledToken) {
  const auto history = gathered(whole_run());
  EXPECT_THAT(history.problems, testing::IsEmpty());
  EXPECT_TRUE(history.balances());
  EXPECT_EQ(history.produced, (Count{17, 36}));
  EXPECT_EQ(history.trained, (Count{7, 11}));
  EXPECT_EQ(history.waiting, (Count{1, 2}));
  const std::map<std::string, Count> dropped = {
      {"superseded", {1, 2}},       {"attempt_repeated", {1, 3}}, {"daemon_died", {2, 5}},
      {"infrastructure", {1, 1}},   {"validation", {1, 4}},       {"unscoped", {1, 5}},
      {"update_skipped", {1, 1}},   {"group_superseded", {1, 2}}};
  EXPECT_EQ(history.dropped, dropped);
}

TEST(RunHistory, OfARunningDaemonWaitsForWhatIsOpen) {
  const auto history = gathered(whole_run(), 0, true);
  EXPECT_TRUE(history.balances());
  EXPECT_EQ(history.waiting, (Count{2, 4}));
  EXPECT_EQ(history.dropped.at("daemon_died"), (Count{1, 3}));
}

TEST(RunHistory, KnowsRowsAdvantagesAndUpdates) {
  const auto history = gathered(whole_run());
  const auto& first = history.rollouts.at(RolloutId{1});
  EXPECT_EQ(first.num_rows, 1U);
  EXPECT_EQ(first.learnable, (Count{2, 5}));
  // Rewards 1 and 0: mean 1/2, deviation with n - 1 sqrt(1/2).
  EXPECT_NEAR(*first.advantage, 0.5 / (std::sqrt(0.5) + 1e-6), 1e-12);
  EXPECT_EQ(history.rollouts.at(RolloutId{3}).num_rows, 2U);
  EXPECT_EQ(history.rollouts.at(RolloutId{3}).advantage, 0.0);
  EXPECT_EQ(history.rollouts.at(RolloutId{4}).num_attempts, 2U);
  EXPECT_FALSE(history.rollouts.at(RolloutId{6}).advantage);     // out of the baseline
  ASSERT_EQ(history.updates.size(), 4U);
  EXPECT_EQ(history.updates[0].num_rollouts, 2U);
  EXPECT_EQ(history.updates[0].num_trained_tokens, 7U);
  EXPECT_EQ(history.updates[0].reward_mean, 0.5);
  EXPECT_TRUE(history.updates[1].made.is_void);
  EXPECT_FALSE(history.updates[2].made.is_void);
  EXPECT_EQ(history.rollouts.at(RolloutId{3}).update, 2U);
}

TEST(RunHistory, DoesNotBalanceIfACallIsThereTwiceOrAGroupTrainedTwice) {
  auto doubled = whole_run();
  for (const auto& record : whole_run().records)
    if (const auto* call = std::get_if<samples::CallRecorded>(&record); call != nullptr && call->call.id == CallId{16})
      doubled.records.push_back(record);
  EXPECT_FALSE(gathered(doubled).balances());
  auto twice = whole_run();
  twice.update(3, {GroupId{1}}, 0x333);
  EXPECT_THAT(gathered(twice).problems, testing::ElementsAre("two updates consumed group 1"));
}

TEST(RunHistory, CountsWhatWasRemovedForItsAge) {
  auto run = whole_run();
  for (auto& record : run.records) {
    auto* recorded = std::get_if<samples::CallRecorded>(&record);
    if (recorded == nullptr || recorded->call.attempt != of(1)) continue;
    recorded->removed_prompt_tokens = 2;
    recorded->removed_tokens = static_cast<std::uint32_t>(recorded->call.tokens.size());
    recorded->call.prompt_ids = {};
    recorded->call.tokens.clear();
  }
  const auto history = gathered(run);
  EXPECT_TRUE(history.balances());
  EXPECT_EQ(history.produced, (Count{17, 36}));
  EXPECT_EQ(history.dropped.at("removed"), (Count{2, 5}));
}

RolloutView view_of(const RunHistory& history, std::uint64_t rollout) {
  return {history, RolloutId{rollout}, nullptr, "ids alone", "grpo", false};
}

TEST(RolloutView, WeighsItsTokensAndShowsWhatIsNew) {
  const auto history = gathered(whole_run(), 1);
  const auto view = view_of(history, 1);
  EXPECT_DOUBLE_EQ(*view.coefficient(), 1.0 / (2 * 5));
  EXPECT_EQ(view.fate_text(), "trained in the update that made version 1 (weights 0000000000000abc)");
  ASSERT_EQ(history.kept_calls.size(), 2U);
  EXPECT_EQ(view.new_messages(history.kept_calls[0].call).size(), 1U);
  const auto added = view.new_messages(history.kept_calls[1].call);
  ASSERT_EQ(added.size(), 2U);
  EXPECT_EQ(added[1]["content"], "c");
  const auto text = to_text(view);
  EXPECT_THAT(text, HasSubstr("advantage    0.707106  (grpo over the rewards 1.0000 0.0000)"));
  EXPECT_THAT(text, HasSubstr("coefficient  0.1 of each trained token: 1/(R T), R 2"));
  EXPECT_THAT(text, HasSubstr("branch 0 from token 2, which it begins: first"));
  EXPECT_THAT(text, HasSubstr("prompt       5 tokens, the first 4 as in call 1"));
  EXPECT_THAT(text, HasSubstr("reply        3 tokens, mean log-probability -2.0000"));
}

TEST(RolloutView, SaysWhyACallIsNotTrained) {
  const auto history = gathered(whole_run(), 2);
  const auto json = to_json(view_of(history, 2));
  ASSERT_EQ(json["calls"].size(), 3U);
  EXPECT_EQ(json["calls"][1]["state"], "superseded");
  EXPECT_EQ(json["calls"][1]["dropped"], "superseded");
  EXPECT_TRUE(json["calls"][1]["branch"].is_null());
  EXPECT_EQ(json["calls"][2]["branch"], 0);
  EXPECT_EQ(json["calls"][2]["row_begin"], 4);
  EXPECT_EQ(json["calls"][2]["token_ids"], nlohmann::ordered_json({12}));
  EXPECT_DOUBLE_EQ(json["coefficient"].get<double>(), 0.25);
  EXPECT_EQ(json["trained_in_version"], 1);
}

TEST(RolloutView, NamesTheCauseOfASplitAndTheRepeatedAttempt) {
  const auto split = gathered(whole_run(), 3);
  EXPECT_THAT(to_text(view_of(split, 3)), HasSubstr("branch 1 from token 1, which it begins: history_dropped"));
  const auto repeated = gathered(whole_run(), 4);
  EXPECT_THAT(to_text(view_of(repeated, 4)), HasSubstr("not trained: attempt_repeated"));
  EXPECT_EQ(view_of(gathered(whole_run()), 8).fate_text(), "not trained: it has not ended");
}

TEST(InspectText, ShowsUpdatesAndThatTheAccountsBalance) {
  const auto text = to_text(gathered(whole_run()), "/runs/test");
  EXPECT_THAT(text, HasSubstr("saved in step-000001"));
  EXPECT_THAT(text, HasSubstr("void: a resume left it"));
  EXPECT_THAT(text, HasSubstr("skipped: the weights stayed"));
  EXPECT_THAT(text, HasSubstr("they balance"));
  const auto json = to_json(gathered(whole_run()));
  EXPECT_EQ(json["accounts"]["produced"]["tokens"], 36);
  EXPECT_EQ(json["updates"][2]["weights_checksum"], "0000000000000222");
  EXPECT_EQ(json["rollouts"].size(), 10U);
}

TEST(FindRun, TakesAFolderAndSaysWhetherADaemonHasIt) {
  const support::TemporaryFolder folder;
  EXPECT_EQ(find_run(folder.path(), {}).error().code, Code::not_found);
  auto journal = samples::Journal::open(folder.path(), "test").value();
  ASSERT_TRUE(files::write_atomically(folder / "config.yaml", "run:\n  name: test\n").ok());
  auto found = find_run(folder.path(), {"trainer.learning_rate=0.5"}).value();
  EXPECT_TRUE(found.is_running);
  EXPECT_EQ(found.folder, folder.path());
  EXPECT_FLOAT_EQ(static_cast<float>(found.loaded.config.trainer.learning_rate), 0.5F);
  for (const auto& record : whole_run().records) {
    journal->append(record, {});
    ASSERT_TRUE(journal->flush().ok());    // a call goes on from what is written
  }
  journal.reset();
  found = find_run(folder / "config.yaml", {}).value();
  EXPECT_FALSE(found.is_running);
  const auto source = [&](const auto& for_each) { return samples::read_journal(found.folder, for_each); };
  const auto history = gather_history(source, {{}, trainer::AdvantageKind::grpo, false, RolloutId{1}}).value();
  EXPECT_TRUE(history.balances());
  EXPECT_EQ(history.produced, (Count{17, 36}));
  EXPECT_EQ(view_of(history, 1).new_messages(history.kept_calls[1].call).size(), 2U);
}
}  // namespace
}  // namespace corisco::app
