// Which request is the retry of which, and what is kept for retries.
#include "gateway/retry_book.h"

#include <gtest/gtest.h>

#include "gateway/wire_format.h"

namespace corisco::gateway {
namespace {
namespace asio = boost::asio;
using Stage = Exchange::Stage;

struct FakePeer final : Peer {
  asio::awaitable<bool> write(std::string) override { co_return !has_left; }
  void write_last(const std::string&) override {}
  bool is_gone() const override { return has_left; }
  void on_gone(std::function<void()>) override {}
  asio::any_io_executor executor() const override { return {}; }
  bool has_left = false;
};

RequestIdentity identity(const std::string& question, std::optional<std::uint32_t> max_tokens = {}) {
  return {wire_format_of(RouteKind::messages), question, max_tokens};
}

std::shared_ptr<const KeptReply> reply_of(std::size_t num_tokens) {
  auto reply = std::make_shared<KeptReply>();
  auto& whole = reply->choices.emplace_back();
  whole.tokens.resize(num_tokens);
  whole.finish = FinishReason::stop;
  return reply;
}

struct RetryBookTest : testing::Test {
  std::shared_ptr<Exchange> left(const std::string& question, std::size_t num_tokens = 1, std::uint64_t call = 1) {
    auto exchange = book.begin(identity(question), peer, [] {});
    exchange->calls = {CallId{call}};
    book.end(exchange, Stage::whole, reply_of(num_tokens));
    return exchange;
  }
  std::shared_ptr<Exchange> find(const RequestIdentity& request, bool has_marks) const {
    return book.find(request, has_marks, now);
  }
  FakePeer peer;
  RetryBook book;
  TimePoint now{std::chrono::hours(1)};
};

TEST_F(RetryBookTest, ARunningExchangeIsFoundOnceItsClientHasLeftOrByMarks) {
  const auto exchange = book.begin(identity("a"), peer, [] {});
  EXPECT_EQ(find(identity("a"), false), nullptr);
  EXPECT_EQ(find(identity("a"), true), exchange);
  EXPECT_EQ(find(identity("b"), true), nullptr);
  EXPECT_EQ(find(identity("a", 5), true), nullptr);
  peer.has_left = true;
  EXPECT_EQ(find(identity("a"), false), exchange);
}

// A client that says that it waits ten minutes has not given up a request that was sent just now: an equal
// one with marks is the retry of one that never came, beside a parallel call.
TEST_F(RetryBookTest, MarksDoNotTakeACallThatItsClientStillWaitsFor) {
  const auto parallel = book.begin(identity("a"), peer, [] {});
  parallel->given_up_from = now + std::chrono::minutes(10);
  EXPECT_EQ(find(identity("a"), true), nullptr);
  const auto older = book.begin(identity("a"), peer, [] {});
  older->given_up_from = now;
  EXPECT_EQ(find(identity("a"), true), older);
  peer.has_left = true;
  EXPECT_NE(find(identity("a"), false), nullptr) << "the connection says it, whatever the time";
  peer.has_left = false;
  book.end(older, Stage::delivered, nullptr);
  now += std::chrono::minutes(10);
  EXPECT_EQ(find(identity("a"), true), parallel);
}

TEST_F(RetryBookTest, EachRetryHasAnExchangeOfItsOwnWhereThereIsOne) {
  const auto one = left("a"), two = left("a");
  int num_woken = 0;
  {
    const Attachment retry(two, 7, [&] { ++num_woken; });
    EXPECT_EQ(find(identity("a"), false), one);
    const Attachment other(one, 8, [] {});
    EXPECT_EQ(find(identity("a"), false), nullptr);
    EXPECT_NE(find(identity("a"), true), nullptr);
  }
  EXPECT_EQ(find(identity("a"), false), two);
  EXPECT_EQ(num_woken, 0);
}

TEST_F(RetryBookTest, AnEndWakesTheRetriesAndALeavingRetryWakesTheCall) {
  int num_call = 0, num_retry = 0;
  const auto exchange = book.begin(identity("a"), peer, [&] { ++num_call; });
  { const Attachment retry(exchange, 7, [] {}); }
  EXPECT_EQ(num_call, 1);
  const Attachment retry(exchange, 8, [&] { ++num_retry; });
  book.end(exchange, Stage::delivered, reply_of(1));
  EXPECT_EQ(num_retry, 1);
  EXPECT_NE(exchange->reply, nullptr);
  EXPECT_EQ(book.size(), 0U);
}

TEST_F(RetryBookTest, TheNewestRepliesAreKeptWithinCountAndBytes) {
  std::vector<std::shared_ptr<Exchange>> exchanges;
  for (int i = 0; i < 5; ++i) exchanges.push_back(left("a"));
  EXPECT_EQ(exchanges[0]->reply, nullptr);
  EXPECT_NE(exchanges[1]->reply, nullptr);
  const auto half = RetryBook::kReplyBytesMax / sizeof(SampledToken) / 2;
  const auto first = left("b", half), second = left("b", half), third = left("b", half / 2);
  EXPECT_EQ(exchanges[4]->reply, nullptr);
  EXPECT_EQ(first->reply, nullptr);
  EXPECT_NE(second->reply, nullptr);
  EXPECT_NE(third->reply, nullptr);
  EXPECT_EQ(left("c", 3 * half)->reply, nullptr) << "it has no room even alone";
  for (std::size_t i = 0; i < 2 * RetryBook::kEndedMax; ++i) left("d");
  EXPECT_EQ(book.size(), RetryBook::kEndedMax);
}

TEST_F(RetryBookTest, WhatArrivedIsNotFoundAgain) {
  left("a", 1, 5), left("a", 1, 6);
  const std::vector<CallId> calls = {CallId{6}, CallId{9}};
  book.note_arrival(calls);
  ASSERT_NE(find(identity("a"), true), nullptr);
  EXPECT_EQ(find(identity("a"), true)->calls.front(), CallId{5});
}

TEST_F(RetryBookTest, ACutReplyIsFoundByARequestForMore) {
  const auto exchange = book.begin(identity("a", 10), peer, [] {});
  exchange->hit_length = true;
  EXPECT_EQ(book.find_cut(identity("a", 11)), nullptr) << "it runs";
  book.end(exchange, Stage::delivered, nullptr);
  EXPECT_EQ(book.find_cut(identity("a", 10)), nullptr);
  EXPECT_EQ(book.find_cut(identity("a", 9)), nullptr);
  EXPECT_EQ(book.find_cut(identity("b", 11)), nullptr);
  EXPECT_EQ(book.find_cut(identity("a", 11)), exchange);
  EXPECT_EQ(book.find_cut(identity("a")), exchange);
}

TEST(RequestIdentity, IsOfWhatTheReplyFollowsFrom) {
  const auto& format = *wire_format_of(RouteKind::chat_completions);
  ChatRequest request;
  request.messages_json = "[1]";
  const auto same = identity_of(request, format);
  auto other = request;
  other.is_stream = other.includes_usage = true;
  EXPECT_EQ(identity_of(other, format), same);
  other.max_tokens = 5;
  EXPECT_NE(identity_of(other, format), same);
  EXPECT_EQ(identity_of(other, format).question, same.question);
  EXPECT_NE(identity_of(request, *wire_format_of(RouteKind::messages)), same);
  const auto differs = [&](auto change) {
    auto changed = request;
    change(changed);
    return identity_of(changed, format).question != same.question;
  };
  EXPECT_TRUE(differs([](auto& r) { r.messages_json = "[2]"; }));
  EXPECT_TRUE(differs([](auto& r) { r.messages_json = "", r.sent_messages_json = "[1]"; }));
  EXPECT_TRUE(differs([](auto& r) { r.tools_json = "[]"; }));
  EXPECT_TRUE(differs([](auto& r) { r.prompt_text = ""; }));
  EXPECT_TRUE(differs([](auto& r) { r.prompt_ids = {0}; }));
  EXPECT_TRUE(differs([](auto& r) { r.num_choices = 2; }));
  EXPECT_TRUE(differs([](auto& r) { r.stop_strings = {""}; }));
  EXPECT_TRUE(differs([](auto& r) { r.sampling.seed = 0; }));
  EXPECT_TRUE(differs([](auto& r) { r.sampling.temperature = 1e-9; }));
  EXPECT_TRUE(differs([](auto& r) { r.returns_token_ids = true; }));
}

TEST(RetryMarks, AreACountAboveZero) {
  const auto has = [](const std::string& value) {
    Head head;
    head.fields = {{"x-stainless-retry-count", value}};
    return retry_marks_of(head).is_retry;
  };
  EXPECT_FALSE(retry_marks_of(Head{}).is_retry);
  EXPECT_FALSE(has("0"));
  EXPECT_FALSE(has("true"));
  EXPECT_FALSE(has("1x"));
  EXPECT_TRUE(has("1"));
  EXPECT_TRUE(has("12"));
}

TEST(RetryMarks, SayHowLongAClientWaits) {
  const auto patience = [](std::vector<Head::Field> fields) {
    Head head;
    head.fields = std::move(fields);
    return retry_marks_of(head).patience_seconds;
  };
  EXPECT_EQ(patience({{"x-stainless-read-timeout", "600"}}), 600.0);
  EXPECT_EQ(patience({{"x-stainless-timeout", "59.5"}}), 59.5);
  EXPECT_EQ(patience({{"x-stainless-read-timeout", "600.0"}, {"x-stainless-timeout", "7"}}), 600.0);
  for (const char* none : {"NOT_GIVEN", "None", "", "0", "-1", "inf", "nan", "5s", "1e99"})
    EXPECT_EQ(patience({{"x-stainless-read-timeout", none}}), std::nullopt) << none;
}
}  // namespace
}  // namespace corisco::gateway
