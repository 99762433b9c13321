// What becomes of a journal's old content: gone where no resume needs it, and nothing else changed.
#include "samples/retention.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <map>

#include "corisco/base/files.h"
#include "corisco/base/strings.h"
#include "corisco/samples/recovery.h"
#include "samples/sample_calls.h"
#include "support/temporary_folder.h"

namespace corisco::samples {
namespace {
constexpr double kDay = 86400;

struct RetentionTest : ::testing::Test {
  RetentionTest() { open(); }
  void open() {
    JournalOptions options;
    options.clock = &clock;
    journal = Journal::open(folder.path(), "run", options).value();
  }
  void append(const Record& record) { journal->append(record, {}); }
  void pass_days(int days) {
    ASSERT_TRUE(journal->flush().ok());
    clock.advance(std::chrono::hours(24 * days));
  }
  // A rollout with a call, and if it trains a group of its own.
  void open_rollout(std::uint64_t id, Mode mode = Mode::train) {
    if (mode == Mode::train) append(GroupOpened{GroupId{id}, id, 1, {}});
    append(RolloutOpened{make_spec(id, mode == Mode::train ? id : 0, 0, id, mode)});
    start(id, 1);
  }
  void start(std::uint64_t id, std::uint32_t attempt) {
    append(AttemptStarted{{RolloutId{id}, attempt}, 0});
    Call first = make_call(0, std::vector<TokenId>(300, 5), {6, 7});
    first.id = CallId{10 * id + attempt};
    first.attempt = {RolloutId{id}, attempt};
    first.request_json = std::string(500, 's');
    append(CallRecorded{first});
  }
  void finish(std::uint64_t id, std::uint32_t attempt = 1) {
    auto end = make_end(id, 0.5, Outcome::completed, attempt);
    end.spec = make_spec(id, id, 0, id);
    end.reward_note = "what the grader said";
    append(RolloutFinished{end});
  }
  void publish(std::uint64_t version, std::uint64_t group) {
    append(UpdatePublished{PolicyVersion{version}, {GroupId{group}}, ""});
  }
  Removed remove(int days, std::uint64_t oldest_checkpoint) {
    std::promise<Result<Removed>> done;
    const double before = clock.unix_seconds() - kDay * days;
    journal->remove_old({before, PolicyVersion{oldest_checkpoint}},
                        [&](Result<Removed> removed) { done.set_value(std::move(removed)); });
    auto removed = done.get_future().get();
    EXPECT_TRUE(removed.ok()) << removed.error().message;
    return removed.ok() ? removed.value() : Removed{};
  }
  // Calls whose content is there, and those without.
  std::pair<std::vector<std::uint64_t>, std::vector<std::uint64_t>> calls() {
    EXPECT_TRUE(journal->flush().ok());
    std::vector<std::uint64_t> whole, removed;
    const auto report = read_journal(folder.path(), [&](const Record& record) {
      if (const auto* recorded = std::get_if<CallRecorded>(&record))
        (recorded->is_removed() ? removed : whole).push_back(recorded->call.id.value);
    });
    EXPECT_TRUE(report.ok()) << report.error().message;
    return {whole, removed};
  }
  std::string content() { return files::read(path).value(); }
  using Ids = std::vector<std::uint64_t>;

  ManualClock clock;
  support::TemporaryFolder folder;
  const std::string path = folder / "journal.bin";
  std::unique_ptr<Journal> journal;
};

TEST_F(RetentionTest, OfTrainedRolloutsThatNoCheckpointNeeds) {
  for (std::uint64_t id = 1; id <= 3; ++id) open_rollout(id), finish(id);
  publish(1, 1);
  publish(2, 2);                         // group 3 waits
  pass_days(10);
  EXPECT_EQ(remove(11, 2).num_records, 0U);   // not old enough
  EXPECT_EQ(remove(9, 0).num_records, 0U);    // a resume from the initial weights trains all of them
  const auto size = std::filesystem::file_size(path);
  const auto removed = remove(9, 1);
  EXPECT_EQ(removed.num_records, 3U);         // an opening, a call, an end
  EXPECT_EQ(removed.bytes, size - std::filesystem::file_size(path));
  EXPECT_EQ(calls(), (std::pair<Ids, Ids>{{21, 31}, {11}}));
  EXPECT_EQ(remove(9, 1).num_records, 0U);    // once
  EXPECT_EQ(remove(9, 2).num_records, 3U);
  EXPECT_EQ(calls(), (std::pair<Ids, Ids>{{31}, {11, 21}}));
}

TEST_F(RetentionTest, NothingReadableIsLeftAndLengthsAre) {
  open_rollout(1, Mode::val);
  finish(1);
  pass_days(2);
  remove(1, 0);
  for (const char* text : {"sssss", "grader", R"({"id": "x"})"})
    EXPECT_EQ(content().find(text), std::string::npos) << text;
  std::uint64_t num_records = 0;
  ASSERT_TRUE(read_journal(folder.path(), [&](const Record& record) {
                ++num_records;
                if (const auto* recorded = std::get_if<CallRecorded>(&record)) {
                  EXPECT_EQ(recorded->removed_prompt_tokens, 300U);
                  EXPECT_EQ(recorded->removed_tokens, 2U);
                  EXPECT_TRUE(recorded->call.prompt_ids.empty() && recorded->call.tokens.empty());
                }
                if (const auto* finished = std::get_if<RolloutFinished>(&record)) {
                  EXPECT_EQ(finished->rollout.reward, 0.5);
                }
              }).ok());
  EXPECT_EQ(num_records, 4U);
}

// Attempts that were superseded, calls outside any rollout, a rollout that a resume runs again; but not
// what runs now, however old.
TEST_F(RetentionTest, OfWhatIsVoid) {
  open_rollout(1);
  start(1, 2);
  Call unscoped = make_call(0, {1, 2, 3}, {4});
  unscoped.id = CallId{99};
  unscoped.attempt = {};
  append(CallRecorded{unscoped});
  pass_days(5);
  EXPECT_EQ(remove(4, 0).num_records, 2U);
  EXPECT_EQ(calls(), (std::pair<Ids, Ids>{{12}, {11, 99}}));
  append(RunResumed{});
  EXPECT_EQ(remove(4, 0).num_records, 1U);
  EXPECT_EQ(calls(), (std::pair<Ids, Ids>{{}, {11, 12, 99}}));
}

// An attempt's calls go together, when its last one is old.
TEST_F(RetentionTest, DeltasNeverLoseTheirBase) {
  open_rollout(1, Mode::val);
  pass_days(5);
  Call second = make_call(1, std::vector<TokenId>(300, 5), {8});
  second.id = CallId{12};
  second.base = CallId{11};
  second.base_tokens = 300;
  append(CallRecorded{second});
  finish(1);
  pass_days(1);
  EXPECT_EQ(remove(3, 0).num_records, 1U);   // the opening
  EXPECT_EQ(calls(), (std::pair<Ids, Ids>{{11, 12}, {}}));
  pass_days(3);
  EXPECT_EQ(remove(3, 0).num_records, 3U);
  EXPECT_EQ(calls(), (std::pair<Ids, Ids>{{}, {11, 12}}));
}

TEST_F(RetentionTest, ARecoveryFindsTheSame) {
  for (std::uint64_t id = 1; id <= 4; ++id) open_rollout(id), finish(id);
  open_rollout(5);
  open_rollout(6, Mode::val);
  publish(1, 2);
  publish(2, 1);
  pass_days(2);
  ASSERT_TRUE(journal->flush().ok());
  const auto before = recover(folder.path(), PolicyVersion{1});
  EXPECT_GT(remove(1, 1).num_records, 0U);
  const auto after = recover(folder.path(), PolicyVersion{1});
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_EQ(after.value().next_rollout, 7U);
  EXPECT_EQ(after.value().next_group, 6U);
  EXPECT_EQ(after.value().next_call, before.value().next_call);
  EXPECT_EQ(after.value().next_task_occurrence, 6U);
  EXPECT_EQ(after.value().num_updates, 1U);
  ASSERT_EQ(after.value().ready.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(after.value().ready[i].id, before.value().ready[i].id);
    const auto& call = after.value().ready[i].rollouts.at(0).calls.at(0);
    EXPECT_EQ(call.prompt_ids, before.value().ready[i].rollouts[0].calls[0].prompt_ids);
  }
  EXPECT_EQ(after.value().unfinished.at(0).to_run.at(0).spec.task_json, R"({"id": "x"})");
}

TEST_F(RetentionTest, AppendsGoOnMeanwhileAndAfterwards) {
  for (std::uint64_t id = 1; id <= 200; ++id) open_rollout(id, Mode::val), finish(id);
  pass_days(2);
  std::promise<Result<Removed>> done;
  std::promise<void> hold_writer;
  const Retention retention{clock.unix_seconds() - kDay, {}};
  journal->remove_old(retention, [&](Result<Removed> removed) {
    hold_writer.get_future().wait();
    done.set_value(std::move(removed));
  });
  for (std::uint64_t id = 201; id <= 300; ++id) open_rollout(id);
  hold_writer.set_value();
  auto removed = done.get_future().get();
  ASSERT_TRUE(removed.ok()) << removed.error().message;
  EXPECT_EQ(removed.value().num_records, 600U);
  for (std::uint64_t id = 301; id <= 310; ++id) open_rollout(id);
  const auto [whole, gone] = calls();
  EXPECT_EQ(whole.size(), 110U);
  EXPECT_EQ(gone.size(), 200U);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_EQ(Journal::open(folder.path(), "run").error().code, Code::conflict);   // the new file is locked
  journal.reset();
  open();
  EXPECT_EQ(journal->torn_bytes(), 0U);
  append(RunResumed{});
  EXPECT_EQ(calls().first.size(), 110U);
}

TEST_F(RetentionTest, OneAtATime) {
  for (std::uint64_t id = 1; id <= 3; ++id) open_rollout(id, Mode::val), finish(id);
  pass_days(2);
  std::promise<void> is_inside, may_go_on;
  append(RunResumed{});
  journal->append(RunResumed{}, [&](const Result<void>&) {
    is_inside.set_value();
    may_go_on.get_future().wait();       // the writer starts no rewriting meanwhile
  });
  is_inside.get_future().wait();
  std::promise<Result<Removed>> done;
  const Retention retention{clock.unix_seconds() - kDay, {}};
  journal->remove_old(retention, [&](Result<Removed> removed) { done.set_value(std::move(removed)); });
  Code second = Code::internal;
  journal->remove_old(retention, [&](const Result<Removed>& removed) { second = removed.error().code; });
  EXPECT_EQ(second, Code::conflict);
  may_go_on.set_value();
  EXPECT_TRUE(done.get_future().get().ok());
  EXPECT_EQ(remove(1, 0).num_records, 0U);   // and again afterwards
}

// A kill while the file was rewritten leaves a part of it aside, which the next opening removes.
TEST_F(RetentionTest, AHalfRewrittenFileIsDropped) {
  open_rollout(1);
  ASSERT_TRUE(journal->flush().ok());
  const auto whole = content();
  journal.reset();
  std::ofstream(path + ".new") << whole.substr(0, 100);
  open();
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
  EXPECT_EQ(content(), whole);
}

TEST_F(RetentionTest, ClosingStopsARewriting) {
  for (std::uint64_t id = 1; id <= 300; ++id) open_rollout(id, Mode::val), finish(id);
  pass_days(2);
  std::promise<Result<Removed>> done;
  const Retention retention{clock.unix_seconds() - kDay, {}};
  journal->remove_old(retention, [&](Result<Removed> removed) { done.set_value(std::move(removed)); });
  journal.reset();
  const auto removed = done.get_future().get();
  EXPECT_TRUE(removed.ok() || removed.error().code == Code::cancelled);
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
  open();
  EXPECT_EQ(calls().first.size() + calls().second.size(), 300U);
}
}  // namespace
}  // namespace corisco::samples
