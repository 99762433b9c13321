// What a resumed run takes from its journal, for kills at chosen moments. The source is a list of
// records in memory; the last test reads a real journal.
#include "corisco/samples/recovery.h"

#include <gtest/gtest.h>

#include "corisco/samples/store.h"
#include "samples/sample_calls.h"
#include "support/temporary_folder.h"

namespace corisco::samples {
namespace {
using Records = std::vector<Record>;

Recovered recover_from(const Records& records, std::uint64_t checkpoint) {
  auto recovered = recover(
      [&](const auto& for_each) -> Result<ReadReport> {
        for (const auto& record : records) for_each(record);
        return ReadReport{"run", records.size(), 0};
      },
      PolicyVersion{checkpoint});
  EXPECT_TRUE(recovered.ok());
  return std::move(recovered).value();
}

// A group of two rollouts whose ids are 10 * group and 10 * group + 1.
void open_group(Records& records, std::uint64_t group, std::uint64_t occurrence, std::uint64_t version = 0) {
  records.push_back(GroupOpened{GroupId{group}, occurrence, 2, PolicyVersion{version}});
  for (std::uint32_t sibling = 0; sibling < 2; ++sibling) {
    const std::uint64_t id = 10 * group + sibling;
    records.push_back(RolloutOpened{make_spec(id, group, sibling, occurrence)});
    records.push_back(AttemptStarted{{RolloutId{id}, 1}, 0});
  }
}

void record_call(Records& records, std::uint64_t rollout, std::uint32_t attempt, std::uint64_t id,
                 std::uint32_t turn, bool is_delivered) {
  Call call = make_call(turn, {1}, {2});
  call.id = CallId{id};
  call.attempt = {RolloutId{rollout}, attempt};
  call.is_delivered = false;
  records.push_back(CallRecorded{call});
  records.push_back(CallDelivered{CallId{id}, call.attempt, is_delivered});
}

void finish(Records& records, std::uint64_t rollout, double reward, std::uint32_t attempt = 1) {
  records.push_back(RolloutFinished{make_end(rollout, reward, Outcome::completed, attempt)});
}

void whole_group(Records& records, std::uint64_t group, std::uint64_t occurrence, std::uint64_t version = 0) {
  open_group(records, group, occurrence, version);
  for (std::uint64_t id : {10 * group, 10 * group + 1}) {
    record_call(records, id, 1, 100 * id, 0, true);
    finish(records, id, static_cast<double>(id));
  }
}

void publish(Records& records, std::uint64_t version, std::vector<std::uint64_t> groups) {
  UpdatePublished update{PolicyVersion{version}, {}, ""};
  for (const auto group : groups) update.groups.push_back(GroupId{group});
  records.push_back(update);
}

std::vector<std::uint64_t> ready_groups(const Recovered& recovered) {
  std::vector<std::uint64_t> ids;
  for (const auto& group : recovered.ready) ids.push_back(group.id.value);
  return ids;
}
using Ids = std::vector<std::uint64_t>;

TEST(Recovery, AnEmptyJournalStartsAtTheBeginning) {
  const auto recovered = recover_from({}, 0);
  EXPECT_TRUE(recovered.ready.empty() && recovered.unfinished.empty());
  EXPECT_EQ(recovered.next_rollout, 1U);
  EXPECT_EQ(recovered.next_group, 1U);
  EXPECT_EQ(recovered.next_call, 1U);
  EXPECT_EQ(recovered.next_task_occurrence, 0U);
  EXPECT_EQ(recovered.num_updates, 0U);
}

TEST(Recovery, WholeGroupsComeBackWithCallsAndDeliveries) {
  Records records;
  open_group(records, 1, 0, 4);
  record_call(records, 11, 1, 503, 1, false);  // turns arrive out of order
  record_call(records, 11, 1, 502, 0, true);
  finish(records, 11, 0.5);
  finish(records, 10, 1.0);
  const auto recovered = recover_from(records, 0);
  ASSERT_EQ(ready_groups(recovered), Ids{1});
  const Group& group = recovered.ready[0];
  EXPECT_EQ(group.opened_at, PolicyVersion{4});
  ASSERT_EQ(group.rollouts.size(), 2U);
  EXPECT_EQ(group.rollouts[0].reward, 1.0);
  EXPECT_TRUE(group.rollouts[0].calls.empty());
  ASSERT_EQ(group.rollouts[1].calls.size(), 2U);
  EXPECT_EQ(group.rollouts[1].calls[0].id, CallId{502});
  EXPECT_TRUE(group.rollouts[1].calls[0].is_delivered);
  EXPECT_FALSE(group.rollouts[1].calls[1].is_delivered);
  EXPECT_EQ(recovered.next_rollout, 12U);
  EXPECT_EQ(recovered.next_group, 2U);
  EXPECT_EQ(recovered.next_call, 504U);
  EXPECT_EQ(recovered.next_task_occurrence, 1U);
}

// Updates 1, 2, 3 consumed groups 1, 2, 3; group 4 waits. The checkpoint is of version 1.
TEST(Recovery, GroupsOfLostUpdatesAreReadyAgainAsTheyWereTrained) {
  Records records;
  for (std::uint64_t group = 1; group <= 4; ++group) whole_group(records, group, group - 1);
  publish(records, 1, {1});
  publish(records, 2, {3});  // not in the order of occurrences
  publish(records, 3, {2});
  EXPECT_EQ(ready_groups(recover_from(records, 1)), (Ids{3, 2, 4}));
  EXPECT_EQ(recover_from(records, 1).num_updates, 1U);
  EXPECT_EQ(ready_groups(recover_from(records, 3)), Ids{4});
  EXPECT_EQ(recover_from(records, 3).num_updates, 3U);
  EXPECT_EQ(ready_groups(recover_from(records, 0)), (Ids{1, 3, 2, 4}));
}

// The line 1, 2, 3 is left at 1; the resumed line's update 2 takes other groups.
TEST(Recovery, UpdatesBeforeAResumeAreVoid) {
  Records records;
  for (std::uint64_t group = 1; group <= 4; ++group) whole_group(records, group, group - 1);
  publish(records, 1, {1});
  publish(records, 2, {2});
  records.push_back(RunResumed{PolicyVersion{1}});
  publish(records, 2, {3});
  EXPECT_EQ(ready_groups(recover_from(records, 2)), (Ids{2, 4}));
  EXPECT_EQ(recover_from(records, 2).num_updates, 2U);
  EXPECT_EQ(ready_groups(recover_from(records, 1)), (Ids{3, 2, 4}));
}

TEST(Recovery, ALowerVersionTellsOfAResumeThatWasNotJournaled) {
  Records records;
  for (std::uint64_t group = 1; group <= 3; ++group) whole_group(records, group, group - 1);
  publish(records, 1, {1});
  publish(records, 2, {2});
  publish(records, 1, {3});
  EXPECT_EQ(ready_groups(recover_from(records, 1)), (Ids{1, 2}));
}

TEST(Recovery, SkippedUpdatesAndCheckpointsRepeatAVersion) {
  Records records;
  for (std::uint64_t group = 1; group <= 3; ++group) whole_group(records, group, group - 1);
  publish(records, 1, {1});
  publish(records, 1, {2});  // skipped: consumed, with no new version
  records.push_back(UpdatePublished{PolicyVersion{1}, {}, "checkpoints/step-000001"});
  const auto recovered = recover_from(records, 1);
  EXPECT_EQ(ready_groups(recovered), Ids{3});
  EXPECT_EQ(recovered.num_updates, 2U);
}

TEST(Recovery, ACheckpointAmidstRolloutsTakesNoneOfThem) {
  Records records;
  whole_group(records, 1, 0);
  records.push_back(UpdatePublished{PolicyVersion{0}, {}, "checkpoints/step-000000"});
  publish(records, 1, {1});
  open_group(records, 2, 1, 1);
  finish(records, 20, 1.0);
  records.push_back(UpdatePublished{PolicyVersion{1}, {}, "checkpoints/step-000001"});
  finish(records, 21, 0.0);
  open_group(records, 3, 2, 1);
  const auto recovered = recover_from(records, 1);
  EXPECT_EQ(ready_groups(recovered), Ids{2});
  ASSERT_EQ(recovered.unfinished.size(), 1U);
  EXPECT_EQ(recovered.unfinished[0].id, GroupId{3});
  EXPECT_EQ(recovered.num_updates, 1U);
  EXPECT_EQ(ready_groups(recover_from(records, 0)), (Ids{1, 2}));
}

TEST(Recovery, OpenRolloutsRunAgainUnderTheSameSalt) {
  Records records;
  open_group(records, 1, 5);
  finish(records, 10, 1.0);
  records.push_back(AttemptStarted{{RolloutId{11}, 2}, 77});
  record_call(records, 11, 2, 900, 0, true);
  const auto recovered = recover_from(records, 0);
  EXPECT_TRUE(recovered.ready.empty());
  ASSERT_EQ(recovered.unfinished.size(), 1U);
  const UnfinishedGroup& group = recovered.unfinished[0];
  EXPECT_EQ(group.id, GroupId{1});
  EXPECT_EQ(group.num_siblings, 2U);
  ASSERT_EQ(group.finished.size(), 1U);
  EXPECT_EQ(group.finished[0].reward, 1.0);
  ASSERT_EQ(group.to_run.size(), 1U);
  EXPECT_EQ(group.to_run[0].spec.id, RolloutId{11});
  EXPECT_EQ(group.to_run[0].spec.task_json, R"({"id": "x"})");
  EXPECT_EQ(group.to_run[0].next_attempt, 3U);
  EXPECT_EQ(group.to_run[0].salt, 77U);
  EXPECT_EQ(recovered.occurrences_to_redo(), Ids{5});
}

TEST(Recovery, OnlyCallsOfTheAttemptThatCountsComeBack) {
  Records records;
  open_group(records, 1, 0);
  record_call(records, 10, 1, 500, 0, true);
  records.push_back(AttemptStarted{{RolloutId{10}, 2}, 1});
  record_call(records, 10, 2, 501, 0, true);
  finish(records, 10, 1.0, 2);
  finish(records, 11, 0.0);
  const auto recovered = recover_from(records, 0);
  ASSERT_EQ(recovered.ready.size(), 1U);
  ASSERT_EQ(recovered.ready[0].rollouts[0].calls.size(), 1U);
  EXPECT_EQ(recovered.ready[0].rollouts[0].calls[0].id, CallId{501});
}

// It was on its way to the journal when its rollout ended; the store refused it.
TEST(Recovery, ACallBehindItsRolloutsEndIsNotOfIt) {
  Records records;
  open_group(records, 1, 0);
  record_call(records, 10, 1, 500, 0, true);
  finish(records, 10, 1.0);
  record_call(records, 10, 1, 501, 1, false);
  finish(records, 11, 0.0);
  const auto recovered = recover_from(records, 0);
  ASSERT_EQ(recovered.ready.size(), 1U);
  ASSERT_EQ(recovered.ready[0].rollouts[0].calls.size(), 1U);
  EXPECT_EQ(recovered.ready[0].rollouts[0].calls[0].id, CallId{500});
  EXPECT_EQ(recovered.next_call, 502U);
}

TEST(Recovery, CallsComeBackInTheStateThatWasNotedLast) {
  Records records;
  open_group(records, 1, 0);
  record_call(records, 10, 1, 500, 0, false);
  records.push_back(CallDelivered{CallId{500}, {RolloutId{10}, 1}, false, CallState::superseded});
  record_call(records, 10, 1, 501, 1, true);
  finish(records, 10, 1.0);
  finish(records, 11, 0.0);
  const auto recovered = recover_from(records, 0);
  ASSERT_EQ(recovered.ready.size(), 1U);
  const auto& calls = recovered.ready[0].rollouts[0].calls;
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].state, CallState::superseded);
  EXPECT_FALSE(calls[0].is_delivered);
  EXPECT_EQ(calls[1].state, CallState::used);
}

// The disk was full when the attempt began, and had room again for its call and its end.
TEST(Recovery, AnEndTellsOfAnAttemptWhoseStartIsNotThere) {
  Records records;
  records.push_back(GroupOpened{GroupId{1}, 0, 1, {}});
  records.push_back(RolloutOpened{make_spec(10, 1, 0)});
  record_call(records, 10, 1, 500, 0, true);
  finish(records, 10, 1.0);
  const auto recovered = recover_from(records, 0);
  ASSERT_EQ(recovered.ready.size(), 1U);
  EXPECT_EQ(recovered.ready[0].rollouts[0].calls.size(), 1U);
}

TEST(Recovery, EndsByTheDaemonsOwnStopDoNotCount) {
  Records records;
  open_group(records, 1, 0);
  finish(records, 10, 1.0);
  records.push_back(RolloutFinished{make_end(11, std::nullopt, Outcome::cancelled)});
  const auto recovered = recover_from(records, 0);
  EXPECT_TRUE(recovered.ready.empty());
  ASSERT_EQ(recovered.unfinished.size(), 1U);
  EXPECT_EQ(recovered.unfinished[0].to_run.at(0).spec.id, RolloutId{11});
}

TEST(Recovery, AnOccurrenceThatWasOpenedAgainIsNotDoneTwice) {
  Records records;
  open_group(records, 1, 0);  // killed here, drawn again as group 2
  whole_group(records, 2, 0);
  EXPECT_EQ(ready_groups(recover_from(records, 0)), Ids{2});
  EXPECT_TRUE(recover_from(records, 0).unfinished.empty());
  open_group(records, 3, 0);  // whole, but drawn again, since its weights were lost
  EXPECT_TRUE(recover_from(records, 0).ready.empty());
  EXPECT_EQ(recover_from(records, 0).occurrences_to_redo(), Ids{0});
}

TEST(Recovery, AGroupThatWasBeingOpenedIsDrawnAgain) {
  Records records;
  whole_group(records, 1, 0);
  records.push_back(GroupOpened{GroupId{2}, 1, 2, {}});
  records.push_back(RolloutOpened{make_spec(20, 2, 0, 1)});
  const auto recovered = recover_from(records, 0);
  EXPECT_EQ(ready_groups(recovered), Ids{1});
  ASSERT_EQ(recovered.unfinished.size(), 1U);
  EXPECT_EQ(recovered.unfinished[0].to_run.size(), 1U);
  EXPECT_EQ(recovered.occurrences_to_redo(), Ids{1});
  EXPECT_EQ(recovered.next_task_occurrence, 2U);
}

TEST(Recovery, RolloutsFromOutsideAndValidationsAreNotDrawn) {
  Records records;
  records.push_back(RolloutOpened{make_spec(1, 0, 0, 50, Mode::val)});
  finish(records, 1, 1.0);
  records.push_back(GroupOpened{GroupId{1}, kDrawnOccurrencesMax + 2, 1, {}});
  records.push_back(RolloutOpened{make_spec(2, 1, 0, kDrawnOccurrencesMax + 2)});
  const auto recovered = recover_from(records, 0);
  EXPECT_TRUE(recovered.ready.empty());
  EXPECT_EQ(recovered.next_task_occurrence, 0U);
  EXPECT_TRUE(recovered.occurrences_to_redo().empty());
  EXPECT_EQ(recovered.next_rollout, 3U);
}

// A store over a real journal: what it hands on is what recovery finds.
TEST(Recovery, AgreesWithTheStoreThatWroteTheJournal) {
  const support::TemporaryFolder folder;
  std::vector<std::unique_ptr<Group>> handed_on;
  {
    const auto journal = Journal::open(folder.path(), "run");
    ASSERT_TRUE(journal.ok());
    Store store(journal.value().get(), [&](auto group) { handed_on.push_back(std::move(group)); }, {});
    for (std::uint64_t group = 1; group <= 3; ++group) {
      ASSERT_TRUE(store.open_group(GroupId{group}, group - 1, 2, {}).ok());
      for (std::uint32_t sibling = 0; sibling < 2; ++sibling) {
        const AttemptKey key{RolloutId{10 * group + sibling}, 1};
        ASSERT_TRUE(store.open_rollout(make_spec(key.rollout.value, group, sibling, group - 1)).ok());
        ASSERT_TRUE(store.start_attempt(key).ok());
        Call call = make_call(0, {1, 2}, {3});
        call.id = CallId{100 * key.rollout.value};
        call.attempt = key;
        call.is_delivered = false;
        call.request_json = "[]";
        call.reply_text = "yes";
        journal.value()->append(CallRecorded{call}, {});
        ASSERT_TRUE(store.append(call).ok());
        store.mark_delivered(call.id, key, sibling == 0);
        const bool ends = group < 3 || sibling == 0;
        ASSERT_EQ(ends, ends && store.finish(make_end(key.rollout.value, 0.5)).ok());
      }
    }
  }
  const auto recovered = recover(folder.path(), PolicyVersion{0});
  ASSERT_TRUE(recovered.ok()) << recovered.error().message;
  ASSERT_EQ(handed_on.size(), 2U);
  ASSERT_EQ(recovered.value().ready.size(), 2U);
  for (std::size_t g = 0; g < 2; ++g) {
    const Group& live = *handed_on[g];
    const Group& read = recovered.value().ready[g];
    EXPECT_EQ(read.id, live.id);
    for (std::size_t r = 0; r < 2; ++r) {
      ASSERT_EQ(read.rollouts[r].spec.id, live.rollouts[r].spec.id);
      EXPECT_EQ(read.rollouts[r].reward, live.rollouts[r].reward);
      ASSERT_EQ(read.rollouts[r].calls.size(), 1U);
      EXPECT_EQ(read.rollouts[r].calls[0].prompt_ids, live.rollouts[r].calls[0].prompt_ids);
      EXPECT_EQ(read.rollouts[r].calls[0].is_delivered, r == 0);
      EXPECT_TRUE(read.rollouts[r].calls[0].request_json.empty() && read.rollouts[r].calls[0].reply_text.empty());
    }
  }
  ASSERT_EQ(recovered.value().unfinished.size(), 1U);
  EXPECT_EQ(recovered.value().unfinished[0].to_run.at(0).spec.id, RolloutId{31});
}
}  // namespace
}  // namespace corisco::samples
