// What is written is read back, after every kind of cut and flip.
#include "corisco/samples/journal.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <thread>

#include "corisco/base/crc32c.h"
#include "corisco/base/files.h"
#include "corisco/base/strings.h"
#include "corisco/metrics/registry.h"
#include "samples/record_codec.h"
#include "samples/sample_calls.h"
#include "support/temporary_folder.h"

namespace corisco::samples {
namespace {
Call rich_call() {
  Call call = make_call(3, {1, -2, 2147483647}, {4, 5});
  call.tokens[1].drawn_logprob = -0.25F;
  call.finish = FinishReason::length;
  call.temperature = 0.7F;
  call.is_trainable = false;
  call.request_json = std::string("{\"a\":\"\0\"}", 9);
  call.reply_text = "S\xc3\xa3o";
  call.started_unix_seconds = 1.7e9;
  call.parse_errors = {"no name", ""};
  call.routed_experts = {3, 0, 65534, 7};
  call.state = CallState::side;
  call.split = SplitCause::tools_changed;
  return call;
}

// One record of each type, with fields that differ from their defaults.
std::vector<Record> one_of_each() {
  FinishedRollout finished = make_end(4, -0.5, Outcome::grader_failed, 2);
  finished.spec = make_spec(4, 2, 3, 9);
  finished.reward_note = "why";
  finished.seconds = 12.5;
  return {GroupOpened{GroupId{2}, 9, 4, PolicyVersion{6}},
          RolloutOpened{make_spec(4, 2, 3, 9, Mode::val)},
          AttemptStarted{{RolloutId{4}, 2}, 0xffffffffffffffffU},
          CallRecorded{rich_call()},
          CallDelivered{CallId{400}, {RolloutId{1}, 1}, true, CallState::superseded},
          RolloutFinished{finished},
          UpdatePublished{PolicyVersion{7}, {GroupId{2}, GroupId{5}}, "checkpoints/step-000007", true, 1U << 31},
          RunResumed{PolicyVersion{6}}};
}

std::string bytes_of(const std::vector<Record>& records) {
  std::string bytes;
  for (const auto& record : records) bytes += cat(int{type_of(record)}, ":") + encode(record);
  return bytes;
}

struct JournalTest : ::testing::Test {
  std::unique_ptr<Journal> open() {
    JournalOptions options;
    options.metrics = &metrics;
    options.clock = &clock;
    auto journal = Journal::open(folder.path(), "run-1", options);
    EXPECT_TRUE(journal.ok()) << journal.error().message;
    return journal.ok() ? std::move(journal).value() : nullptr;
  }
  void write(const std::vector<Record>& records) {
    const auto journal = open();
    for (const auto& record : records) journal->append(record, {});
    ASSERT_TRUE(journal->flush().ok());
  }
  // "error: ..." or the records' bytes.
  std::string read_back(std::uint64_t* torn = nullptr) {
    std::vector<Record> records;
    const auto report = read_journal(folder.path(), [&](const Record& record) { records.push_back(record); });
    if (!report.ok()) return "error: " + report.error().message;
    EXPECT_EQ(report.value().num_records, records.size());
    if (torn != nullptr) *torn = report.value().torn_bytes;
    return bytes_of(records);
  }
  std::string content() { return files::read(path).value(); }
  void replace(const std::string& bytes) { std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes; }
  // A head of another format that is whole otherwise.
  void write_head(char format) {
    std::string head = std::string("CORISCOJ") + format + std::string("\0\0\0\x05\0\0\0run-1", 12);
    const std::uint32_t sum = crc32c(head);
    for (int i = 0; i < 4; ++i) head += static_cast<char>(sum >> (8 * i));
    replace(head);
  }
  metrics::Registry metrics;
  ManualClock clock;
  support::TemporaryFolder folder;
  const std::string path = folder / "journal.bin";
};

// Where the frames of the file begin, found by their lengths alone, and the end.
std::vector<std::size_t> frame_starts(const std::string& bytes) {
  std::vector<std::size_t> starts{16 + 5 + 4};  // head with the run id "run-1"
  while (starts.back() < bytes.size()) {
    std::uint32_t length = 0;
    std::memcpy(&length, bytes.data() + starts.back(), 4);
    starts.push_back(starts.back() + 21 + length);
  }
  return starts;
}

TEST_F(JournalTest, ReadsBackEachTypeOfRecord) {
  write(one_of_each());
  EXPECT_EQ(read_back(), bytes_of(one_of_each()));
  std::vector<Record> records;
  ASSERT_TRUE(read_journal(folder.path(), [&](const Record& record) { records.push_back(record); }).ok());
  const Call call = std::get<CallRecorded>(records[3]).call;
  EXPECT_EQ(call.prompt_ids.items(), (std::vector<TokenId>{1, -2, 2147483647}));
  ASSERT_EQ(call.tokens.size(), 2U);
  EXPECT_EQ(call.tokens[1].sampled_logprob, -3.625F);
  EXPECT_EQ(call.tokens[1].drawn_logprob, -0.25F);
  EXPECT_EQ(call.tokens[1].policy_version, PolicyVersion{5});
  EXPECT_EQ(call.finish, FinishReason::length);
  EXPECT_TRUE(call.is_delivered);
  EXPECT_FALSE(call.is_trainable);
  EXPECT_EQ(call.request_json.items(), std::string("{\"a\":\"\0\"}", 9));
  EXPECT_EQ(call.parse_errors, (std::vector<std::string>{"no name", ""}));
  EXPECT_EQ(call.routed_experts.items(), (std::vector<std::uint16_t>{3, 0, 65534, 7}));
  EXPECT_EQ(call.state, CallState::side);
  EXPECT_EQ(call.split, SplitCause::tools_changed);
  EXPECT_EQ(std::get<CallDelivered>(records[4]).state, CallState::superseded);
  const FinishedRollout finished = std::get<RolloutFinished>(records[5]).rollout;
  EXPECT_EQ(finished.outcome, Outcome::grader_failed);
  EXPECT_EQ(finished.reward, -0.5);
  EXPECT_EQ(finished.spec.task_json, R"({"id": "x"})");
  const auto update = std::get<UpdatePublished>(records[6]);
  EXPECT_EQ(update.groups, (std::vector<GroupId>{GroupId{2}, GroupId{5}}));
  EXPECT_TRUE(update.was_skipped);
  EXPECT_EQ(update.weights_checksum, 1U << 31);
}

TEST_F(JournalTest, RecordsSayWhenTheyWereWritten) {
  const auto journal = open();
  journal->append(RunResumed{PolicyVersion{1}}, {});
  ASSERT_TRUE(journal->flush().ok());
  clock.advance(std::chrono::seconds(90));
  journal->append(RunResumed{PolicyVersion{2}}, {});
  ASSERT_TRUE(journal->flush().ok());
  std::vector<std::pair<std::uint64_t, std::uint32_t>> stamps;
  const auto note = [&](const Record&, RecordStamp stamp) {
    stamps.emplace_back(stamp.sequence, stamp.written_unix_seconds);
  };
  ASSERT_TRUE(read_journal(folder.path(), note).ok());
  EXPECT_EQ(stamps, (std::vector<std::pair<std::uint64_t, std::uint32_t>>{{1, 1700000000}, {2, 1700000090}}));
}

// The file of one record, written out by hand from the description in journal.h.
TEST_F(JournalTest, BytesOfTheFormat) {
  write({RunResumed{PolicyVersion{0x0102}}});
  std::string head = std::string("CORISCOJ\x02\0\0\0\x05\0\0\0run-1", 21);
  const auto little = [](std::uint64_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
    return text;
  };
  head += little(crc32c(head), 4);
  // Version 258 is 2 times 128 and 2.
  const std::string body = "\x08" + little(1, 8) + little(1700000000, 4) + "\x82\x02";
  EXPECT_EQ(content(), head + little(2, 4) + little(crc32c(little(2, 4) + body), 4) + body);
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(JournalTest, GoesOnAfterReopening) {
  const auto records = one_of_each();
  write({records.begin(), records.begin() + 3});
  write({records.begin() + 3, records.end()});
  EXPECT_EQ(read_back(), bytes_of(records));
}

TEST_F(JournalTest, CutAtEveryByteKeepsTheWholeRecords) {
  const auto records = one_of_each();
  write(records);
  const std::string whole = content();
  const auto starts = frame_starts(whole);
  ASSERT_EQ(starts.size(), records.size() + 1);
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    SCOPED_TRACE(cat("cut at ", cut));
    replace(whole.substr(0, cut));
    const auto kept =
        static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), cut) - starts.begin());
    const std::size_t num_kept = kept == 0 ? 0 : kept - 1;
    std::uint64_t torn = 0;
    ASSERT_EQ(read_back(&torn),
              bytes_of({records.begin(), records.begin() + static_cast<std::ptrdiff_t>(num_kept)}));
    ASSERT_EQ(torn, kept == 0 ? cut : cut - starts[num_kept]);
    // Opening cuts the torn tail, and what is written next follows the whole records.
    if (cut % 31 != 0) continue;
    ASSERT_EQ(open()->torn_bytes(), torn);
    write({records[0]});
    auto expected =
        std::vector<Record>(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(num_kept));
    expected.push_back(records[0]);
    ASSERT_EQ(read_back(), bytes_of(expected));
  }
}

// A flip before the last record is damage that names where; in the last record it cannot be told
// from a torn write, and costs that record alone. Never are other records read.
TEST_F(JournalTest, EveryFlippedBitIsNoticed) {
  const auto records = one_of_each();
  write(records);
  const std::string whole = content();
  const auto starts = frame_starts(whole);
  const std::size_t last = starts[records.size() - 1];
  for (std::size_t at = 0; at < whole.size(); ++at) {
    SCOPED_TRACE(cat("flip at ", at));
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    replace(damaged);
    const std::string read = read_back();
    if (at >= last) {
      ASSERT_EQ(read, bytes_of({records.begin(), records.end() - 1}));
    } else {
      ASSERT_EQ(read.substr(0, 7), "error: ") << read.size();
      ASSERT_TRUE(at % 8 != 0 || !Journal::open(folder.path(), "run-1").ok());
    }
    if (at < starts[0] || at >= last) continue;
    const auto frame = *std::prev(std::upper_bound(starts.begin(), starts.end(), at));
    ASSERT_NE(read.find(cat("damaged at offset ", frame, ",")), std::string::npos) << read;
  }
}

TEST_F(JournalTest, ARefusedJournalIsLeftAsItWas) {
  write(one_of_each());
  std::string damaged = content();
  damaged[60] = static_cast<char>(damaged[60] ^ 1);
  replace(damaged);
  ASSERT_FALSE(Journal::open(folder.path(), "run-1").ok());
  EXPECT_EQ(content(), damaged);
}

TEST_F(JournalTest, ARecordMissingInTheMiddleIsDamage) {
  write(one_of_each());
  const std::string whole = content();
  const auto starts = frame_starts(whole);
  replace(whole.substr(0, starts[1]) + whole.substr(starts[2]));
  EXPECT_NE(read_back().find(cat("damaged at offset ", starts[1], ", after record 1")), std::string::npos);
}

TEST_F(JournalTest, OtherFilesAreRefused) {
  replace("something else that is long enough for a head");
  EXPECT_NE(read_back().find("not a journal"), std::string::npos);
  for (const char format : {'\x01', '\x03'}) {
    write_head(format);
    EXPECT_NE(read_back().find(cat("format ", int{format}, "; this daemon reads format 2")), std::string::npos);
    EXPECT_EQ(Journal::open(folder.path(), "run-1").error().code, Code::invalid_argument);
  }
  std::filesystem::remove(path);
  EXPECT_EQ(read_journal(folder.path(), [](const Record&) {}).error().code, Code::not_found);
}

TEST_F(JournalTest, ASecondDaemonIsRefusedAndSoIsAnotherRun) {
  {
    const auto first = open();
    const auto second = Journal::open(folder.path(), "run-1");
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().code, Code::conflict);
    EXPECT_NE(second.error().message.find("in use by another daemon"), std::string::npos);
  }
  const auto other = Journal::open(folder.path(), "run-2");
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message.find("belongs to run \"run-1\", not to \"run-2\""), std::string::npos);
  EXPECT_TRUE(Journal::open(folder.path(), "run-1").ok());
}

TEST_F(JournalTest, ACompletionComesAfterTheWrite) {
  const auto journal = open();
  std::promise<std::string> seen;
  journal->append(RunResumed{PolicyVersion{3}}, [&](Result<void> written) {
    seen.set_value(written.ok() ? read_back() : written.error().message);
  });
  EXPECT_EQ(seen.get_future().get(), bytes_of({RunResumed{PolicyVersion{3}}}));
}

TEST_F(JournalTest, ManyThreadsAppendAndEachKeepsItsOrder) {
  constexpr std::uint64_t kEach = 500;
  {
    const auto journal = open();
    std::vector<std::thread> threads;
    for (std::uint64_t t = 1; t <= 4; ++t) {
      threads.emplace_back([&journal, t] {
        for (std::uint64_t i = 1; i <= kEach; ++i) journal->append(AttemptStarted{{RolloutId{t}, 1}, i}, {});
      });
    }
    for (auto& thread : threads) thread.join();
  }  // closing writes what waits
  std::map<RolloutId, std::uint64_t> last;
  ASSERT_TRUE(read_journal(folder.path(), [&](const Record& record) {
                const auto& started = std::get<AttemptStarted>(record);
                EXPECT_EQ(started.salt, ++last[started.attempt.rollout]);
              }).ok());
  for (std::uint64_t t = 1; t <= 4; ++t) EXPECT_EQ(last[RolloutId{t}], kEach);
  const double written = metrics.counter("corisco_samples_journal_bytes_total").value();
  EXPECT_EQ(written, static_cast<double>(std::filesystem::file_size(path) - 25));  // but the head
}

TEST_F(JournalTest, MoreThanTheBoundIsRefusedAtOnce) {
  const auto journal = open();
  std::promise<void> is_inside, may_go_on;
  journal->append(RunResumed{}, [&](const Result<void>&) {
    is_inside.set_value();
    may_go_on.get_future().wait();  // the writer hangs
  });
  is_inside.get_future().wait();
  Call call = make_call(0, {1}, {2});
  call.reply_text = std::string(16U << 20, 'x');
  int num_refused = 0;
  for (int i = 0; i < 5; ++i) {
    journal->append(CallRecorded{call}, [&](const Result<void>& written) {
      if (!written.ok() && written.error().code == Code::overloaded) ++num_refused;
    });
  }
  EXPECT_EQ(num_refused, 2);  // three times 16 MiB and a little fit in 64 MiB
  may_go_on.set_value();
  EXPECT_TRUE(journal->flush().ok());
}

// Where a record's experts begin, if it has some: what is before them is a whole record that has none.
std::size_t size_without_experts(Record record) {
  if (auto* recorded = std::get_if<CallRecorded>(&record)) recorded->call.routed_experts = {};
  return encode(record).size();
}

TEST(RecordCodec, RefusesWhatIsTooShortTooLongOrUnknown) {
  for (const auto& record : one_of_each()) {
    const std::string payload = encode(record);
    for (std::size_t cut = 0; cut < payload.size(); ++cut) {
      EXPECT_EQ(decode(type_of(record), payload.substr(0, cut)).ok(), cut == size_without_experts(record));
    }
    EXPECT_FALSE(decode(type_of(record), payload + "x").ok());
    EXPECT_GE(encoded_bytes(record) + 64, payload.size());
  }
  for (const std::uint8_t type : {0, 9, 255}) EXPECT_FALSE(decode(type, "").ok());
  EXPECT_NE(decode(9, "").error().message.find("unknown type 9"), std::string::npos);
  EXPECT_NE(decode(8, "").error().message.find("RunResumed"), std::string::npos);
}
}  // namespace
}  // namespace corisco::samples
