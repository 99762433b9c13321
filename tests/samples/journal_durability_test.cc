// When a record counts as kept, and what a full or a dying disk does. fdatasync is this file's own here,
// so that it can be counted and made to fail.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <future>

#include "corisco/base/strings.h"
#include "corisco/samples/journal.h"
#include "samples/sample_calls.h"
#include "support/full_disk.h"
#include "support/temporary_folder.h"

namespace {
std::atomic<int> num_syncs{0};
std::atomic<bool> syncs_fail{false};
}  // namespace

extern "C" int fdatasync(int descriptor) {
  ++num_syncs;
  if (!syncs_fail) return static_cast<int>(::syscall(SYS_fdatasync, descriptor));
  errno = EIO;
  return -1;
}

namespace corisco::samples {
namespace {
struct JournalDurabilityTest : ::testing::Test {
  ~JournalDurabilityTest() override { syncs_fail = false; }
  std::unique_ptr<Journal> open(Durability durability) {
    JournalOptions options;
    options.durability = durability;
    auto journal = Journal::open(folder.path(), "run", options);
    EXPECT_TRUE(journal.ok()) << journal.error().message;
    return std::move(journal).value();
  }
  // The versions of the journal's RunResumed records.
  std::vector<std::uint64_t> read_back() {
    std::vector<std::uint64_t> versions;
    const auto report = read_journal(folder.path(), [&](const Record& record) {
      if (const auto* resumed = std::get_if<RunResumed>(&record)) versions.push_back(resumed->policy_version.value);
    });
    EXPECT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report.value().torn_bytes, 0U);
    return versions;
  }
  support::TemporaryFolder folder;
};

Result<void> append_and_wait(Journal& journal, Record record) {
  std::promise<Result<void>> done;
  journal.append(std::move(record), [&](Result<void> result) { done.set_value(std::move(result)); });
  return done.get_future().get();
}

TEST_F(JournalDurabilityTest, StrictIsDoneAfterASync) {
  const auto journal = open(Durability::strict);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const int before = num_syncs;
    int at_completion = 0;
    std::promise<void> is_done;
    journal->append(RunResumed{PolicyVersion{i}}, [&](const Result<void>& written) {
      EXPECT_TRUE(written.ok());
      at_completion = num_syncs;
      is_done.set_value();
    });
    is_done.get_future().wait();
    EXPECT_EQ(at_completion, before + 1);
  }
  EXPECT_EQ(read_back(), (std::vector<std::uint64_t>{1, 2, 3}));
}

// The writer hangs in the first completion while the others gather: one sync keeps them all.
TEST_F(JournalDurabilityTest, StrictSyncsAllThatWaitAtOnce) {
  const auto journal = open(Durability::strict);
  std::promise<void> is_inside, may_go_on;
  std::atomic<int> num_done{0};
  journal->append(RunResumed{}, [&](const Result<void>&) {
    is_inside.set_value();
    may_go_on.get_future().wait();
  });
  is_inside.get_future().wait();
  const int before = num_syncs;
  std::promise<void> all_done;
  for (int i = 0; i < 100; ++i) {
    journal->append(RunResumed{}, [&](const Result<void>& written) {
      EXPECT_TRUE(written.ok());
      EXPECT_EQ(num_syncs, before + 1);
      if (++num_done == 100) all_done.set_value();
    });
  }
  may_go_on.set_value();
  all_done.get_future().wait();
}

TEST_F(JournalDurabilityTest, NormalDoesNotWaitForASync) {
  const auto journal = open(Durability::normal);
  ASSERT_TRUE(journal->flush().ok());
  const int before = num_syncs;
  std::promise<int> at_completion;
  journal->append(RunResumed{PolicyVersion{1}}, [&](const Result<void>&) { at_completion.set_value(num_syncs); });
  EXPECT_EQ(at_completion.get_future().get(), before);
  ASSERT_TRUE(journal->flush().ok());
  EXPECT_GT(num_syncs, before);
}

TEST_F(JournalDurabilityTest, WhoWaitsForTheRecordsBeforeHearsWhenTheyAreKept) {
  for (const auto durability : {Durability::normal, Durability::strict}) {
    const auto journal = open(durability);
    const auto wait = [&] {
      std::promise<Result<void>> done;
      journal->when_kept([&](Result<void> result) { done.set_value(std::move(result)); });
      return done.get_future().get();
    };
    EXPECT_TRUE(wait().ok());            // nothing is before it
    const int syncs_before = num_syncs;
    const auto size_before = std::filesystem::file_size(folder / "journal.bin");
    journal->append(RunResumed{PolicyVersion{1}}, {});
    EXPECT_TRUE(wait().ok());
    EXPECT_GT(std::filesystem::file_size(folder / "journal.bin"), size_before);
    if (durability == Durability::strict) {
      EXPECT_GT(num_syncs, syncs_before);
    }
    {
      const support::FullDisk full(std::filesystem::file_size(folder / "journal.bin") + 5);
      journal->append(RunResumed{PolicyVersion{2}}, {});
      EXPECT_EQ(wait().error().code, Code::unavailable);
    }
    EXPECT_TRUE(journal->flush().ok() || journal->flush().ok());   // the first one tells of the failure
    EXPECT_TRUE(wait().ok());
  }
  EXPECT_EQ(read_back(), (std::vector<std::uint64_t>{1, 2, 1, 2}));
}

// What a failed sync left on the disk is unknown, and a second one may claim success: nothing more is taken.
TEST_F(JournalDurabilityTest, AFailedSyncEndsTheJournal) {
  const auto journal = open(Durability::strict);
  ASSERT_TRUE(append_and_wait(*journal, RunResumed{PolicyVersion{1}}).ok());
  syncs_fail = true;
  EXPECT_EQ(append_and_wait(*journal, RunResumed{PolicyVersion{2}}).error().code, Code::unavailable);
  syncs_fail = false;
  EXPECT_EQ(append_and_wait(*journal, RunResumed{PolicyVersion{3}}).error().code, Code::unavailable);
  EXPECT_FALSE(journal->flush().ok());
  EXPECT_EQ(read_back(), (std::vector<std::uint64_t>{1, 2}));
}

TEST_F(JournalDurabilityTest, AFullDiskRefusesRecordsWholeAndIsTriedAgain) {
  for (const auto durability : {Durability::normal, Durability::strict}) {
    const auto journal = open(durability);
    ASSERT_TRUE(append_and_wait(*journal, RunResumed{PolicyVersion{1}}).ok());
    Call call = make_call(0, {1}, {2});
    call.reply_text = std::string(5000, 'x');
    {
      const support::FullDisk full(std::filesystem::file_size(folder / "journal.bin") + 100);
      for (int i = 0; i < 3; ++i)
        EXPECT_EQ(append_and_wait(*journal, CallRecorded{call}).error().code, Code::unavailable);
      EXPECT_FALSE(journal->flush().ok());
      EXPECT_TRUE(append_and_wait(*journal, RunResumed{PolicyVersion{2}}).ok());   // there is room for this one
    }
    EXPECT_TRUE(append_and_wait(*journal, RunResumed{PolicyVersion{3}}).ok());
    EXPECT_TRUE(journal->flush().ok());
  }
  EXPECT_EQ(read_back(), (std::vector<std::uint64_t>{1, 2, 3, 1, 2, 3}));
}

// An update's record has nobody who could ask again: it stays in front until there is room.
TEST_F(JournalDurabilityTest, WhatNobodyWaitsForIsKeptAndWrittenInItsOrder) {
  for (const auto durability : {Durability::normal, Durability::strict}) {
    std::filesystem::remove(folder / "journal.bin");
    const auto journal = open(durability);
    ASSERT_TRUE(append_and_wait(*journal, RunResumed{PolicyVersion{1}}).ok());
    {
      const support::FullDisk full(std::filesystem::file_size(folder / "journal.bin") + 5);
      journal->append(RunResumed{PolicyVersion{2}}, {});
      EXPECT_FALSE(journal->flush().ok());
      EXPECT_FALSE(append_and_wait(*journal, RunResumed{PolicyVersion{9}}).ok());
      journal->append(RunResumed{PolicyVersion{3}}, {});
      EXPECT_FALSE(journal->flush().ok());
      EXPECT_FALSE(journal->flush().ok()) << "as long as it is missing";
      EXPECT_EQ(read_back(), std::vector<std::uint64_t>{1});
    }
    EXPECT_TRUE(append_and_wait(*journal, RunResumed{PolicyVersion{4}}).ok());
    (void)journal->flush();   // tells of the writes that failed meanwhile, if any
    EXPECT_TRUE(journal->flush().ok());
    EXPECT_EQ(read_back(), (std::vector<std::uint64_t>{1, 2, 3, 4}));
  }
}

TEST_F(JournalDurabilityTest, WhatIsKeptIsTriedAgainByItself) {
  const auto journal = open(Durability::normal);
  {
    const support::FullDisk full(std::filesystem::file_size(folder / "journal.bin") + 5);
    journal->append(RunResumed{PolicyVersion{1}}, {});
    EXPECT_FALSE(journal->flush().ok());
  }
  for (int i = 0; i < 500 && read_back().empty(); ++i) ::usleep(10000);
  EXPECT_EQ(read_back(), std::vector<std::uint64_t>{1});
}

TEST_F(JournalDurabilityTest, TheDaemonIsToldOnceIfItCannotBeWritten) {
  std::atomic<int> num_told{0};
  std::promise<std::string> told;
  JournalOptions options;
  options.kept_seconds_max = 0;
  options.on_stuck = [&](std::string why) {
    if (++num_told == 1) told.set_value(std::move(why));
  };
  auto journal = Journal::open(folder.path(), "run", options).value();
  {
    const support::FullDisk full(std::filesystem::file_size(folder / "journal.bin") + 5);
    EXPECT_FALSE(append_and_wait(*journal, RunResumed{}).ok());
    EXPECT_EQ(num_told, 0) << "who waited was told";
    journal->append(RunResumed{PolicyVersion{1}}, {});
    EXPECT_NE(told.get_future().get().find("journal.bin"), std::string::npos);
    EXPECT_FALSE(journal->flush().ok());
    journal.reset();                     // closes, though it cannot be written
  }
  EXPECT_EQ(num_told, 1);
  EXPECT_TRUE(read_back().empty());
}

// A call that was refused is no base for the next one.
TEST_F(JournalDurabilityTest, NothingGoesOnFromARefusedCall) {
  const auto journal = open(Durability::normal);
  ASSERT_TRUE(append_and_wait(*journal, AttemptStarted{{RolloutId{1}, 1}, 0}).ok());
  Call first = make_call(0, {1, 2}, {3});
  first.request_json = std::string(5000, 'x');
  {
    const support::FullDisk full(std::filesystem::file_size(folder / "journal.bin") + 100);
    EXPECT_FALSE(append_and_wait(*journal, CallRecorded{first}).ok());
  }
  Call second = make_call(1, {1, 2, 3, 4}, {5});
  second.base = first.id;
  second.base_tokens = 3;
  ASSERT_TRUE(append_and_wait(*journal, CallRecorded{second}).ok());
  std::vector<Call> calls;
  ASSERT_TRUE(read_journal(folder.path(), [&](const Record& record) {
                if (const auto* recorded = std::get_if<CallRecorded>(&record)) calls.push_back(recorded->call);
              }).ok());
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_FALSE(calls[0].base);
  EXPECT_EQ(calls[0].prompt_ids.items(), (std::vector<TokenId>{1, 2, 3, 4}));
}
}  // namespace
}  // namespace corisco::samples
