#include "corisco/samples/store.h"

#include <gtest/gtest.h>

#include <limits>
#include <tuple>

#include "samples/sample_calls.h"

namespace corisco::samples {
namespace {
Code code_of(const Result<void>& result) { return result.ok() ? Code::internal : result.error().code; }

Call call_of(std::uint64_t rollout, std::uint32_t attempt, std::uint64_t id, std::uint32_t turn,
             std::uint32_t choice = 0) {
  Call call = make_call(turn, {1}, {2}, 5, choice);
  call.id = CallId{id};
  call.attempt = {RolloutId{rollout}, attempt};
  call.is_delivered = false;
  return call;
}

// A journal that keeps what it is given.
struct KeptJournal final : Journal {
  void append(Record record, std::function<void(Result<void>)> done) override {
    records.push_back(std::move(record));
    if (done) done({});
  }
  void when_kept(std::function<void(Result<void>)> done) override { done({}); }
  Result<void> flush() override { return {}; }
  void remove_old(Retention, std::function<void(Result<Removed>)> done) override {
    if (done) done(Removed{});
  }
  std::uint64_t torn_bytes() const override { return 0; }
  std::vector<Record> records;
};

struct StoreTest : ::testing::Test {
  // Group 1 of two siblings, rollouts 1 and 2, each in its first attempt.
  void open_pair() {
    ASSERT_TRUE(store.open_group(GroupId{1}, 7, 2, PolicyVersion{3}).ok());
    for (std::uint64_t id : {1U, 2U}) {
      ASSERT_TRUE(store.open_rollout(make_spec(id, 1, static_cast<std::uint32_t>(id - 1), 7)).ok());
      ASSERT_TRUE(store.start_attempt({RolloutId{id}, 1}).ok());
    }
  }
  KeptJournal journal;
  std::vector<std::unique_ptr<Group>> groups;
  std::vector<FinishedRollout> evaluated;
  Store store{&journal, [this](std::unique_ptr<Group> group) { groups.push_back(std::move(group)); },
              [this](FinishedRollout rollout) { evaluated.push_back(std::move(rollout)); }};
};

// Rollout 1 had finished and rollout 2 had made one attempt when the daemon died.
TEST_F(StoreTest, AGroupOfAnEarlierLifeGoesOnWithoutOpeningsInTheJournal) {
  Group so_far{GroupId{1}, 7, PolicyVersion{3}, {make_end(1, 0.5)}};
  so_far.rollouts[0].spec = make_spec(1, 1, 0, 7);
  so_far.rollouts[0].calls = {call_of(1, 1, 10, 0)};
  ASSERT_TRUE(store.reopen_group(so_far, 2).ok());
  EXPECT_EQ(code_of(store.reopen_group(so_far, 2)), Code::conflict);
  EXPECT_EQ(code_of(store.open_rollout(make_spec(9, 1, 0, 7))), Code::conflict);   // the finished one's sibling
  ASSERT_TRUE(store.reopen_rollout(make_spec(2, 1, 1, 7), 1).ok());
  EXPECT_TRUE(journal.records.empty());
  EXPECT_EQ(code_of(store.append(call_of(2, 1, 11, 0))), Code::not_found);         // the old attempt's
  EXPECT_EQ(code_of(store.start_attempt({RolloutId{2}, 1})), Code::conflict);
  ASSERT_TRUE(store.start_attempt({RolloutId{2}, 2}).ok());
  ASSERT_TRUE(store.append(call_of(2, 2, 12, 0)).ok());
  auto second = make_end(2, 1.0);
  second.attempt = 2;
  ASSERT_TRUE(store.finish(second).ok());
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0]->opened_at, PolicyVersion{3});
  ASSERT_EQ(groups[0]->rollouts.size(), 2U);
  EXPECT_EQ(groups[0]->rollouts[0].calls.size(), 1U);
  EXPECT_EQ(groups[0]->rollouts[1].calls[0].id, CallId{12});
}

TEST_F(StoreTest, AGroupWhoseRolloutsHaveAllFinishedIsNotReopened) {
  Group whole{GroupId{1}, 7, PolicyVersion{3}, {make_end(1, 0.5)}};
  EXPECT_EQ(code_of(store.reopen_group(whole, 1)), Code::invalid_argument);
}

TEST_F(StoreTest, AWholeGroupIsHandedOnOnceAndInOrder) {
  open_pair();
  ASSERT_TRUE(store.append(call_of(2, 1, 12, 1)).ok());
  ASSERT_TRUE(store.append(call_of(2, 1, 11, 0, 1)).ok());
  ASSERT_TRUE(store.append(call_of(2, 1, 10, 0)).ok());
  store.mark_delivered(CallId{12}, {RolloutId{2}, 1}, true);
  ASSERT_TRUE(store.finish(make_end(2, 0.5)).ok());
  EXPECT_TRUE(groups.empty());
  ASSERT_TRUE(store.finish(make_end(1, std::nullopt, Outcome::spawn_failed)).ok());

  ASSERT_EQ(groups.size(), 1U);
  const Group& group = *groups[0];
  EXPECT_EQ(group.id, GroupId{1});
  EXPECT_EQ(group.task_occurrence, 7U);
  EXPECT_EQ(group.opened_at, PolicyVersion{3});
  ASSERT_EQ(group.rollouts.size(), 2U);
  EXPECT_EQ(group.rollouts[0].spec.id, RolloutId{1});
  EXPECT_EQ(group.rollouts[1].reward, 0.5);
  EXPECT_EQ(group.rollouts[1].spec.task_id, "task-7");  // the store's own
  const auto& calls = group.rollouts[1].calls;
  ASSERT_EQ(calls.size(), 3U);  // by (turn, choice), not by arrival
  EXPECT_EQ(calls[0].id, CallId{10});
  EXPECT_EQ(calls[1].id, CallId{11});
  EXPECT_EQ(calls[2].id, CallId{12});
  EXPECT_FALSE(calls[0].is_delivered);
  EXPECT_TRUE(calls[2].is_delivered);
  EXPECT_EQ(store.num_open_groups(), 0U);
  EXPECT_EQ(store.num_open_rollouts(), 0U);
}

TEST_F(StoreTest, AnEndIsTerminalOnce) {
  open_pair();
  ASSERT_TRUE(store.finish(make_end(1, 1.0)).ok());
  EXPECT_EQ(code_of(store.finish(make_end(1, 0.0))), Code::conflict);
  EXPECT_EQ(code_of(store.append(call_of(1, 1, 10, 0))), Code::not_found);
  EXPECT_EQ(store.calls({RolloutId{1}, 1}), nullptr);
  ASSERT_TRUE(store.finish(make_end(2, 0.0)).ok());
  EXPECT_EQ(groups.at(0)->rollouts[0].reward, 1.0);
}

TEST_F(StoreTest, ANewAttemptSupersedesTheOldOne) {
  open_pair();
  const AttemptKey first{RolloutId{1}, 1}, second{RolloutId{1}, 2};
  ASSERT_TRUE(store.append(call_of(1, 1, 10, 0)).ok());
  ASSERT_EQ(store.calls(first)->size(), 1U);
  ASSERT_TRUE(store.start_attempt(second, 99).ok());
  EXPECT_EQ(code_of(store.start_attempt(first)), Code::conflict);
  EXPECT_EQ(store.calls(first), nullptr);
  EXPECT_TRUE(store.calls(second)->empty());
  EXPECT_EQ(code_of(store.append(call_of(1, 1, 11, 1))), Code::not_found);
  EXPECT_EQ(code_of(store.finish(make_end(1, 1.0, Outcome::completed, 1))), Code::conflict);
  ASSERT_TRUE(store.append(call_of(1, 2, 12, 0)).ok());
  ASSERT_TRUE(store.finish(make_end(1, 1.0, Outcome::completed, 2)).ok());
  ASSERT_TRUE(store.finish(make_end(2, 1.0)).ok());
  ASSERT_EQ(groups.at(0)->rollouts[0].calls.size(), 1U);
  EXPECT_EQ(groups[0]->rollouts[0].calls[0].id, CallId{12});
}

TEST_F(StoreTest, TheSameCallTwiceIsRefused) {
  open_pair();
  ASSERT_TRUE(store.append(call_of(1, 1, 10, 0)).ok());
  EXPECT_EQ(code_of(store.append(call_of(1, 1, 10, 1))), Code::conflict);  // same id
  EXPECT_EQ(code_of(store.append(call_of(1, 1, 11, 0))), Code::conflict);  // same turn and choice
  EXPECT_TRUE(store.append(call_of(1, 1, 11, 0, 1)).ok());
}

// What equals the experts of the call that it goes on from is stored once, up to the first one that differs,
// and only of a call of its own attempt.
TEST_F(StoreTest, ExpertsOfAConversationAreHeldOnce) {
  open_pair();
  Call first = call_of(1, 1, 10, 0), second = call_of(1, 1, 11, 1);
  first.routed_experts = {1, 2, 3, 4};
  second.base = CallId{10};
  second.routed_experts = {1, 2, 3, 4, 5, 6};
  Call third = second;
  third.routed_experts = {1, 2, 9, 4, 5, 6};
  Call of_another = second;
  of_another.attempt.rollout = RolloutId{2};
  ASSERT_TRUE(store.append(first).ok());
  for (auto* call : {&first, &second, &third, &of_another}) store.share_experts(*call);
  EXPECT_EQ(first.routed_experts.num_own(), 4U);
  EXPECT_EQ(second.routed_experts.items(), (std::vector<std::uint16_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(second.routed_experts.num_own(), 2U);
  EXPECT_EQ(third.routed_experts.items(), (std::vector<std::uint16_t>{1, 2, 9, 4, 5, 6}));
  EXPECT_EQ(third.routed_experts.num_own(), 4U);
  EXPECT_EQ(of_another.routed_experts.num_own(), 6U);
  store.share_experts(second);             // once more changes nothing
  EXPECT_EQ(second.routed_experts.num_own(), 2U);
}

TEST_F(StoreTest, OpeningsAreChecked) {
  open_pair();
  EXPECT_EQ(code_of(store.open_group(GroupId{1}, 7, 2, {})), Code::conflict);
  EXPECT_EQ(code_of(store.open_group(GroupId{2}, 8, 0, {})), Code::invalid_argument);
  EXPECT_EQ(code_of(store.open_rollout(make_spec(1, 1, 0))), Code::conflict);
  EXPECT_EQ(code_of(store.open_rollout(make_spec(3, 1, 0))), Code::conflict);  // its sibling is taken
  EXPECT_EQ(code_of(store.open_rollout(make_spec(3, 1, 2))), Code::invalid_argument);
  EXPECT_EQ(code_of(store.open_rollout(make_spec(3, 9, 0))), Code::not_found);
  EXPECT_EQ(code_of(store.start_attempt({RolloutId{3}, 1})), Code::not_found);
  EXPECT_EQ(code_of(store.append(call_of(3, 1, 10, 0))), Code::not_found);
  EXPECT_EQ(code_of(store.finish(make_end(3, 1.0))), Code::conflict);
}

TEST_F(StoreTest, ATrainedEndNeedsAFiniteReward) {
  open_pair();
  EXPECT_EQ(code_of(store.finish(make_end(1, std::nullopt))), Code::invalid_argument);
  EXPECT_EQ(code_of(store.finish(make_end(1, std::numeric_limits<double>::quiet_NaN()))),
            Code::invalid_argument);
  EXPECT_TRUE(store.finish(make_end(1, -2.0, Outcome::timed_out)).ok());
}

TEST_F(StoreTest, ADeliveryAfterTheEndCountsWhileTheGroupIsOpen) {
  open_pair();
  const AttemptKey key{RolloutId{1}, 1};
  ASSERT_TRUE(store.append(call_of(1, 1, 10, 0)).ok());
  ASSERT_TRUE(store.finish(make_end(1, 1.0)).ok());
  store.mark_delivered(CallId{10}, key, true);
  store.mark_delivered(CallId{10}, key, false);               // true once is true for good
  store.mark_delivered(CallId{10}, {RolloutId{1}, 2}, true);  // another attempt: ignored
  ASSERT_TRUE(store.finish(make_end(2, 1.0)).ok());
  EXPECT_TRUE(groups.at(0)->rollouts[0].calls[0].is_delivered);
  const auto before = journal.records.size();
  store.mark_delivered(CallId{10}, key, true);  // handed on: ignored
  EXPECT_EQ(journal.records.size(), before);
}

TEST_F(StoreTest, AStateMayChangeAfterTheCallIsRecorded) {
  open_pair();
  const AttemptKey key{RolloutId{1}, 1};
  for (std::uint32_t turn = 0; turn < 3; ++turn) ASSERT_TRUE(store.append(call_of(1, 1, 10 + turn, turn)).ok());
  store.mark_state(CallId{10}, key, CallState::superseded);
  store.mark_delivered(CallId{11}, key, true);
  store.mark_state(CallId{11}, key, CallState::side);
  store.mark_state(CallId{11}, key, CallState::side);              // nothing new: no record
  store.mark_state(CallId{12}, {RolloutId{1}, 2}, CallState::side);   // another attempt: ignored
  store.mark_delivered(CallId{10}, key, true);                     // late; it stays superseded
  std::vector<std::tuple<std::uint64_t, bool, CallState>> records;
  for (const auto& record : journal.records)
    if (const auto* marked = std::get_if<CallDelivered>(&record))
      records.emplace_back(marked->call.value, marked->is_delivered, marked->state);
  EXPECT_EQ(records, (decltype(records){{10, false, CallState::superseded},
                                        {11, true, CallState::used},
                                        {11, true, CallState::side},
                                        {10, true, CallState::superseded}}));
  ASSERT_TRUE(store.finish(make_end(1, 1.0)).ok());
  store.mark_state(CallId{12}, key, CallState::superseded);        // while the group is open
  ASSERT_TRUE(store.finish(make_end(2, 1.0)).ok());
  const auto& calls = groups.at(0)->rollouts[0].calls;
  EXPECT_EQ(calls[0].state, CallState::superseded);
  EXPECT_EQ(calls[1].state, CallState::side);
  EXPECT_EQ(calls[2].state, CallState::superseded);
}

TEST_F(StoreTest, ValidationRolloutsNeedNoGroupAndNeverMakeOne) {
  ASSERT_TRUE(store.open_rollout(make_spec(1, 0, 0, 3, Mode::val)).ok());
  ASSERT_TRUE(store.start_attempt({RolloutId{1}, 1}).ok());
  ASSERT_TRUE(store.append(call_of(1, 1, 10, 0)).ok());
  ASSERT_TRUE(store.finish(make_end(1, 0.25)).ok());
  ASSERT_EQ(evaluated.size(), 1U);
  EXPECT_EQ(evaluated[0].reward, 0.25);
  EXPECT_EQ(evaluated[0].calls.size(), 1U);
  EXPECT_TRUE(groups.empty());
}

TEST_F(StoreTest, ADroppedGroupIsForgottenWithItsRollouts) {
  open_pair();
  ASSERT_TRUE(store.open_rollout(make_spec(5, 0, 0, 3, Mode::val)).ok());
  ASSERT_TRUE(store.finish(make_end(1, 1.0)).ok());
  store.drop_group(GroupId{1});
  EXPECT_EQ(code_of(store.finish(make_end(2, 1.0))), Code::conflict);
  EXPECT_EQ(store.num_open_groups(), 0U);
  EXPECT_EQ(store.num_open_rollouts(), 1U);  // the validation rollout
  EXPECT_TRUE(groups.empty());
}

TEST_F(StoreTest, JournalsInTheOrderOfEventsAndLeavesCallsOut) {
  open_pair();
  ASSERT_TRUE(store.append(call_of(1, 1, 10, 0)).ok());
  store.mark_delivered(CallId{10}, {RolloutId{1}, 1}, true);
  ASSERT_TRUE(store.finish(make_end(1, 1.0)).ok());
  std::vector<std::size_t> kinds;
  for (const auto& record : journal.records) kinds.push_back(record.index());
  // Group, (rollout, attempt) twice, delivery, end.
  EXPECT_EQ(kinds, (std::vector<std::size_t>{0, 1, 2, 1, 2, 4, 5}));
  EXPECT_TRUE(std::get<RolloutFinished>(journal.records.back()).rollout.calls.empty());
  EXPECT_EQ(std::get<RolloutFinished>(journal.records.back()).rollout.spec.task_id, "task-7");
}

TEST_F(StoreTest, TheReceiverMayOpenTheNextGroupAtOnce) {
  bool is_open = false;
  Store chained(nullptr,
                [&](std::unique_ptr<Group>) { is_open = chained.open_group(GroupId{2}, 8, 1, {}).ok(); }, {});
  ASSERT_TRUE(chained.open_group(GroupId{1}, 7, 1, {}).ok());
  ASSERT_TRUE(chained.open_rollout(make_spec(1, 1, 0)).ok());
  ASSERT_TRUE(chained.finish(make_end(1, 1.0)).ok());
  EXPECT_TRUE(is_open);
  EXPECT_EQ(chained.num_open_groups(), 1U);
}
}  // namespace
}  // namespace corisco::samples
