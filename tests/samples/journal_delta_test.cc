// Conversations are journaled as what each call adds, and read back whole.
#include <gtest/gtest.h>

#include <filesystem>

#include "corisco/base/strings.h"
#include "corisco/samples/journal.h"
#include "samples/call_bases.h"
#include "samples/journal_format.h"
#include "samples/record_codec.h"
#include "samples/sample_calls.h"
#include "support/temporary_folder.h"

namespace corisco::samples {
namespace {
constexpr AttemptKey kFirst{RolloutId{1}, 1};

// The next turn of a conversation: what was there, the reply, and 200 tokens and 600 bytes more.
Call next_turn(const Call& before, bool has_base) {
  Call call = make_call(before.turn + 1, {}, {});
  auto ids = before.prompt_ids.items();
  for (const auto& token : before.tokens) ids.push_back(token.id);
  const auto shared = ids.size();
  for (std::size_t i = 0; i < 200; ++i) ids.push_back(static_cast<TokenId>(1000 * call.turn + i));
  call.prompt_ids = ids;
  call.request_json = before.request_json.items() + std::string(600, static_cast<char>('a' + call.turn % 26));
  for (TokenId i = 0; i < 50; ++i) call.tokens.push_back({40000 + i, -0.5F, -0.5F, PolicyVersion{3}});
  if (has_base) {
    call.base = before.id;
    call.base_tokens = static_cast<std::uint32_t>(shared);
    call.base_request_bytes = static_cast<std::uint32_t>(before.request_json.size());
  }
  return call;
}

std::vector<Call> conversation(std::uint32_t num_turns, bool has_base) {
  std::vector<Call> calls{make_call(0, {1, 2, 3}, {4})};
  calls[0].request_json = "[";
  while (calls.size() < num_turns) calls.push_back(next_turn(calls.back(), has_base));
  return calls;
}

struct JournalDeltaTest : ::testing::Test {
  void write(const std::vector<Record>& records) {
    const auto journal = Journal::open(folder.path(), "run");
    ASSERT_TRUE(journal.ok());
    for (const auto& record : records) {
      journal.value()->append(record, {});
      ASSERT_TRUE(journal.value()->flush().ok());   // each in a batch of its own
    }
  }
  void write_calls(const std::vector<Call>& calls) {
    std::vector<Record> records{AttemptStarted{kFirst, 0}};
    for (const auto& call : calls) records.emplace_back(CallRecorded{call});
    write(records);
  }
  std::vector<Call> read_calls() {
    std::vector<Call> calls;
    const auto report = read_journal(folder.path(), [&](const Record& record) {
      if (const auto* recorded = std::get_if<CallRecorded>(&record)) calls.push_back(recorded->call);
    });
    EXPECT_TRUE(report.ok()) << report.error().message;
    return calls;
  }
  std::uint64_t file_bytes() { return std::filesystem::file_size(path); }
  support::TemporaryFolder folder;
  const std::string path = folder / "journal.bin";
};

TEST_F(JournalDeltaTest, CallsComeBackWholeAndShareTheirBeginnings) {
  const auto calls = conversation(20, true);
  write_calls(calls);
  const auto read = read_calls();
  ASSERT_EQ(read.size(), 20U);
  std::size_t num_own = 0;
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(read[i].prompt_ids, calls[i].prompt_ids);
    EXPECT_EQ(read[i].request_json, calls[i].request_json);
    EXPECT_EQ(read[i].base, calls[i].base);
    num_own += read[i].prompt_ids.num_own();
  }
  EXPECT_EQ(num_own, 3U + 19 * 200);     // what was new in each turn, once
}

// A hundred turns of about 250 tokens and 600 bytes: twice the bytes of fifty, and none of history.
TEST_F(JournalDeltaTest, BytesAreLinearInTheTokensOfAConversation) {
  const auto calls = conversation(100, true);
  write_calls({calls.begin(), calls.begin() + 50});
  const auto half = file_bytes();
  std::filesystem::remove(path);
  write_calls(calls);
  const auto whole = file_bytes();
  EXPECT_LT(static_cast<double>(whole), 2.1 * static_cast<double>(half));
  const std::uint64_t new_bytes = 99 * (600 + 200 * 3 + 50 * 7);   // at most 3 bytes an id, 7 a sampled token
  EXPECT_LT(whole, new_bytes + 100 * 120 + 200);
  std::filesystem::remove(path);
  write_calls(conversation(100, false));
  EXPECT_GT(file_bytes(), 20 * whole);   // as whole histories, for comparison
}

TEST_F(JournalDeltaTest, ABranchGoesOnFromTheMiddleOfACallAndSiblingsShareIt) {
  Call root = make_call(0, {1, 2, 3, 4}, {5, 6, 7});
  root.request_json = "[one";
  Call left = make_call(1, {1, 2, 3, 4, 5, 6, 9}, {8});
  left.request_json = "[one,left";
  left.base = root.id, left.base_tokens = 6, left.base_request_bytes = 4;   // two of the three replied
  Call right = make_call(2, {1, 2, 11}, {8});
  right.request_json = "[two";
  right.base = root.id, right.base_tokens = 2, right.base_request_bytes = 1;
  write_calls({root, left, right});
  const auto read = read_calls();
  ASSERT_EQ(read.size(), 3U);
  EXPECT_EQ(read[1].prompt_ids.items(), (std::vector<TokenId>{1, 2, 3, 4, 5, 6, 9}));
  EXPECT_EQ(read[1].request_json.items(), "[one,left");
  EXPECT_EQ(read[2].prompt_ids.items(), (std::vector<TokenId>{1, 2, 11}));
  EXPECT_EQ(read[2].request_json.items(), "[two");
  EXPECT_EQ(read[2].base, root.id);
}

// The writer believes no base that it cannot see in the journal, or that does not begin alike.
TEST_F(JournalDeltaTest, AWrongBaseIsNotUsed) {
  const auto calls = conversation(2, true);
  Call other = calls[1];
  other.base_tokens = 1000;
  Call unequal = calls[1];
  unequal.prompt_ids = std::vector<TokenId>(300, 9);
  Call unknown = calls[1];
  unknown.base = CallId{12345};
  Call elsewhere = calls[1];
  elsewhere.attempt = {RolloutId{2}, 1};
  for (const Call& wrong : {other, unequal, unknown, elsewhere}) {
    std::filesystem::remove(path);
    write_calls({calls[0], wrong});
    const auto read = read_calls();
    ASSERT_EQ(read.size(), 2U);
    EXPECT_FALSE(read[1].base);
    EXPECT_EQ(read[1].prompt_ids, wrong.prompt_ids);
    EXPECT_EQ(read[1].request_json, wrong.request_json);
  }
}

// Two experts a token: those that equal the base's are stored once, whatever follows the first other one.
TEST_F(JournalDeltaTest, ExpertsComeBackWholeAndAreStoredOnceWhereTheyAreTheSame) {
  auto calls = conversation(3, true);
  for (auto& call : calls) {
    std::vector<std::uint16_t> experts(2 * (call.prompt_ids.size() + call.tokens.size() - 1));
    for (std::size_t i = 0; i < experts.size(); ++i) experts[i] = static_cast<std::uint16_t>(i % 100);
    call.routed_experts = std::move(experts);
  }
  write_calls(calls);
  const auto shared = file_bytes();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(read_calls().at(i).routed_experts, calls[i].routed_experts);
  const auto read = read_calls();          // also in memory
  EXPECT_EQ(read[2].routed_experts.num_own(), calls[2].routed_experts.size() - calls[1].routed_experts.size());
  auto written = calls;                    // as the store has them: nothing of what they share is compared
  for (std::size_t i = 1; i < 3; ++i)
    written[i].routed_experts = SharedPrefix<std::uint16_t>::extend(
        written[i - 1].routed_experts, calls[i - 1].routed_experts.size(),
        calls[i].routed_experts.tail(calls[i - 1].routed_experts.size()));
  std::filesystem::remove(path);
  write_calls(written);
  EXPECT_EQ(file_bytes(), shared);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(read_calls().at(i).routed_experts, calls[i].routed_experts);
  auto others = calls[2].routed_experts.items();
  others[7] = 99;                          // computed again, under newer weights
  calls[2].routed_experts = std::move(others);
  std::filesystem::remove(path);
  write_calls(calls);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(read_calls().at(i).routed_experts, calls[i].routed_experts);
  EXPECT_GT(file_bytes(), shared + calls[1].routed_experts.size() - 20);
  calls[0].routed_experts = {};            // by a daemon that recorded none yet
  std::filesystem::remove(path);
  write_calls(calls);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(read_calls().at(i).routed_experts, calls[i].routed_experts);
}

// After the rollout's end, a later attempt or a resume, and in a journal that was opened again, a call is
// written whole though it says what it goes on from.
TEST_F(JournalDeltaTest, WhatCannotGoOnIsForgotten) {
  const auto calls = conversation(2, true);
  for (const Record& end : {Record(RolloutFinished{make_end(1, 1.0)}), Record(AttemptStarted{{RolloutId{1}, 2}, 0}),
                            Record(RunResumed{})}) {
    std::filesystem::remove(path);
    write({AttemptStarted{kFirst, 0}, CallRecorded{calls[0]}, end, CallRecorded{calls[1]}});
    EXPECT_FALSE(read_calls().at(1).base);
  }
  std::filesystem::remove(path);
  write_calls({calls[0]});
  write({CallRecorded{calls[1]}});
  EXPECT_FALSE(read_calls().at(1).base);
  EXPECT_EQ(read_calls().at(1).prompt_ids, calls[1].prompt_ids);
}

// Also where the end and the call wait for the writer together.
TEST_F(JournalDeltaTest, AnEndInTheSameBatchCounts) {
  const auto calls = conversation(2, true);
  {
    const auto journal = Journal::open(folder.path(), "run");
    ASSERT_TRUE(journal.ok());
    for (int i = 0; i < 50; ++i) {
      journal.value()->append(AttemptStarted{{RolloutId{1}, 1U}, 0}, {});
      journal.value()->append(CallRecorded{calls[0]}, {});
      journal.value()->append(CallRecorded{calls[1]}, {});
      journal.value()->append(RolloutFinished{make_end(1, 1.0)}, {});
      journal.value()->append(CallRecorded{calls[1]}, {});
    }
  }
  const auto read = read_calls();
  ASSERT_EQ(read.size(), 150U);
  for (std::size_t i = 0; i < read.size(); ++i) EXPECT_EQ(read[i].prompt_ids, calls[i % 3 == 0 ? 0 : 1].prompt_ids);
}

TEST_F(JournalDeltaTest, AMissingBaseIsDamageThatIsNamed) {
  Call call = conversation(2, true)[1];
  std::string file = journal_head("run");
  file += framed(3, {1, 0}, encode(AttemptStarted{kFirst, 0}));
  file += framed(4, {2, 0}, encode(CallRecorded{call}));
  std::filesystem::remove(path);
  FILE* out = std::fopen(path.c_str(), "wb");
  ASSERT_NE(out, nullptr);
  std::fwrite(file.data(), 1, file.size(), out);
  std::fclose(out);
  const auto report = read_journal(folder.path(), [](const Record&) {});
  ASSERT_FALSE(report.ok());
  const auto& message = report.error().message;
  EXPECT_NE(message.find("record 2 at offset "), std::string::npos) << message;
  EXPECT_NE(message.find("call 200 goes on from call 100, which is missing"), std::string::npos) << message;
  EXPECT_NE(message.find("corisco repair"), std::string::npos) << message;
}
}  // namespace
}  // namespace corisco::samples
