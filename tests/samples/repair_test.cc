// Journals damaged at every place of interest, and what is left of them.
#include "corisco/samples/repair.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "corisco/base/files.h"
#include "corisco/base/strings.h"
#include "corisco/samples/journal.h"
#include "samples/journal_format.h"
#include "samples/record_codec.h"
#include "samples/sample_calls.h"
#include "support/temporary_folder.h"

namespace corisco::samples {
namespace {
// Records 1 to 6: an attempt, a call, two that each go on from the one before, an end, an update.
std::vector<Record> conversation() {
  Call first = make_call(0, {1, 2}, {3});
  Call second = make_call(1, {1, 2, 3, 4}, {5});
  second.base = first.id, second.base_tokens = 3;
  Call third = make_call(2, {1, 2, 3, 4, 5, 6}, {7});
  third.base = second.id, third.base_tokens = 5;
  return {AttemptStarted{first.attempt, 0}, CallRecorded{first}, CallRecorded{second}, CallRecorded{third},
          RolloutFinished{make_end(1, 1.0)}, UpdatePublished{PolicyVersion{1}, {GroupId{1}}, ""}};
}

struct RepairTest : ::testing::Test {
  void SetUp() override {
    const auto journal = Journal::open(folder.path(), "run");
    ASSERT_TRUE(journal.ok());
    for (const auto& record : conversation()) {
      journal.value()->append(record, {});
      ASSERT_TRUE(journal.value()->flush().ok());
    }
    whole = files::read(path).value();
    const auto head = read_head(whole).value().length;
    ASSERT_TRUE(read_frames(whole, head, [&](const Frame& frame) -> Result<void> {
                  starts.push_back(static_cast<std::size_t>(frame.bytes.data() - whole.data()));
                  return {};
                }).ok());
    starts.push_back(whole.size());
    ASSERT_EQ(starts.size(), 7U);
  }
  void replace(const std::string& bytes) { std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes; }
  // One bit of the payload of that record, counted from 1.
  std::string flipped(std::size_t record) const {
    std::string bytes = whole;
    bytes[starts[record] - 1] = static_cast<char>(bytes[starts[record] - 1] ^ 1);
    return bytes;
  }
  RepairReport repaired() {
    const auto report = repair_journal(folder.path());
    EXPECT_TRUE(report.ok()) << report.error().message;
    return report.ok() ? report.value() : RepairReport{};
  }
  // "call 100, end, update 1, ..." as read back.
  std::string read_back() {
    std::vector<std::string> names;
    const auto report = read_journal(folder.path(), [&](const Record& record) {
      if (const auto* call = std::get_if<CallRecorded>(&record)) {
        names.push_back(cat("call ", call->call.id, " of ", call->call.prompt_ids.size()));
      } else {
        names.push_back(cat(record.index() + 1));
      }
    });
    return report.ok() ? join(names, ", ") : "error: " + report.error().message;
  }
  support::TemporaryFolder folder;
  const std::string path = folder / "journal.bin";
  std::string whole;
  std::vector<std::size_t> starts;       // of the records, and the end
};

TEST_F(RepairTest, AWholeJournalIsLeftAsItIs) {
  const auto report = repaired();
  EXPECT_EQ(report.num_kept, 6U);
  EXPECT_EQ(report.damaged_file, "");
  EXPECT_EQ(files::read(path).value(), whole);
  replace(whole.substr(0, whole.size() - 3));   // a torn tail is no damage
  EXPECT_EQ(repaired().damaged_file, "");
  EXPECT_EQ(files::read(path).value().size(), whole.size() - 3);
}

TEST_F(RepairTest, KeepsWhatIsBeforeAndAfterTheDamage) {
  replace(flipped(5));
  EXPECT_EQ(read_back().substr(0, 6), "error:");
  const auto report = repaired();
  EXPECT_EQ(report.num_kept, 5U);
  EXPECT_EQ(report.num_lost, 1U);
  EXPECT_EQ(report.num_places, 1U);
  EXPECT_EQ(report.first_offset, starts[4]);
  EXPECT_EQ(report.num_dropped_calls, 0U);
  EXPECT_EQ(read_back(), "3, call 100 of 2, call 200 of 4, call 300 of 6, 7");
  EXPECT_EQ(files::read(report.damaged_file).value(), flipped(5));
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_TRUE(Journal::open(folder.path(), "run").ok());
  EXPECT_EQ(repaired().damaged_file, "");
}

TEST_F(RepairTest, CallsWhoseBaseIsLostAreDropped) {
  replace(flipped(2));
  const auto report = repaired();
  EXPECT_EQ(report.num_lost, 1U);
  EXPECT_EQ(report.num_dropped_calls, 2U);
  EXPECT_EQ(read_back(), "3, 6, 7");
}

// The calls are whole again without it, and are written so that they can be read.
TEST_F(RepairTest, TheStartOfAnAttemptMayBeLost) {
  replace(flipped(1));
  EXPECT_EQ(repaired().num_kept, 5U);
  EXPECT_EQ(read_back(), "call 100 of 2, call 200 of 4, call 300 of 6, 6, 7");
}

TEST_F(RepairTest, SeveralPlacesAndMissingBytes) {
  std::string bytes = flipped(1);
  bytes = bytes.substr(0, starts[3]) + "garbage" + bytes.substr(starts[4]);   // record 4 is gone
  replace(bytes);
  const auto report = repaired();
  EXPECT_EQ(report.num_places, 2U);
  EXPECT_EQ(report.num_lost, 2U);
  EXPECT_EQ(read_back(), "call 100 of 2, call 200 of 4, 6, 7");
}

TEST_F(RepairTest, OfADamagedHeadTheRunIsTheFoldersName) {
  std::string bytes = whole;
  bytes[17] = static_cast<char>(bytes[17] ^ 4);   // in "run"
  replace(bytes);
  EXPECT_EQ(repaired().num_kept, 6U);
  const auto name = std::filesystem::path(folder.path()).filename().string();
  EXPECT_TRUE(Journal::open(folder.path(), name).ok());
}

TEST_F(RepairTest, AnyFlippedBitCostsAtMostItsRecordAndThoseThatGoOn) {
  for (std::size_t at = starts[0]; at < starts[5]; at += 3) {
    SCOPED_TRACE(cat("flip at ", at));
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << (at % 8)));
    replace(bytes);
    const auto report = repaired();
    ASSERT_EQ(report.num_lost, 1U);
    ASSERT_EQ(report.num_kept + report.num_lost + report.num_dropped_calls, 6U);
    ASSERT_NE(read_back().substr(0, 6), "error:") << read_back();
    std::filesystem::remove(report.damaged_file);
  }
}

TEST_F(RepairTest, SaysWhichUpdatesAreMissing) {
  std::string file = journal_head("run");
  for (std::uint64_t version = 1; version <= 5; ++version) {
    file += framed(7, {version, 0}, encode(UpdatePublished{PolicyVersion{version}, {GroupId{version}}, ""}));
    if (version == 2 || version == 3) file.back() = static_cast<char>(file.back() ^ 1);
  }
  replace(file);
  EXPECT_EQ(repaired().num_missing_updates, 2U);
}

TEST_F(RepairTest, EarlierDamageIsNotOverwritten) {
  replace(flipped(5));
  EXPECT_EQ(repaired().damaged_file, path + ".damaged");
  replace(flipped(4));
  EXPECT_EQ(repaired().damaged_file, path + ".damaged-2");
  EXPECT_EQ(files::read(path + ".damaged").value(), flipped(5));
}

TEST_F(RepairTest, RefusesWhatIsNotItsToRepair) {
  const auto code = [&] { return repair_journal(folder.path()).error().code; };
  {
    const auto journal = Journal::open(folder.path(), "run");
    EXPECT_EQ(code(), Code::conflict);
  }
  const std::string unknown = whole + framed(9, {7, 0}, "of the future") + framed(8, {8, 0}, std::string(1, '\0'));
  replace(unknown);
  const auto report = repair_journal(folder.path());
  ASSERT_FALSE(report.ok());
  EXPECT_NE(report.error().message.find("record 7 at offset"), std::string::npos) << report.error().message;
  EXPECT_NE(report.error().message.find("unknown type 9"), std::string::npos) << report.error().message;
  EXPECT_EQ(files::read(path).value(), unknown);
  replace("not a journal, but long enough for a head");
  EXPECT_EQ(code(), Code::invalid_argument);
  std::filesystem::remove(path);
  EXPECT_EQ(code(), Code::not_found);
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
}
}  // namespace
}  // namespace corisco::samples
