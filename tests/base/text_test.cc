// Strings and results: tables of values worked out by hand.
#include <gtest/gtest.h>

#include <memory>

#include "corisco/base/crc32c.h"
#include "corisco/base/result.h"
#include "corisco/base/strings.h"

namespace corisco {
namespace {
TEST(Strings, CatJoinsWhatStreamsTake) { EXPECT_EQ(cat("rank ", 3, ": ", 0.5), "rank 3: 0.5"); }

TEST(Strings, FixedRoundsToDecimals) {
  EXPECT_EQ(fixed(0.126, 2), "0.13");
  EXPECT_EQ(fixed(-1.0, 0), "-1");
  EXPECT_EQ(fixed(2.0 / 3.0, 4), "0.6667");
}

TEST(Strings, FixedTakesTheLargestNumber) { EXPECT_EQ(fixed(1e20, 1), "100000000000000000000.0"); }

TEST(Strings, HexHasSixteenDigits) {
  EXPECT_EQ(hex(0), "0000000000000000");
  EXPECT_EQ(hex(0xdeadbeefU), "00000000deadbeef");
}

TEST(Strings, TrimTakesBlanksFromBothEnds) {
  EXPECT_EQ(trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Strings, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ','), std::vector<std::string>{""});
  EXPECT_EQ(split(",", ','), (std::vector<std::string>{"", ""}));
}

TEST(Strings, JoinIsTheOppositeOfSplit) {
  EXPECT_EQ(join(split("a,,b", ','), ","), "a,,b");
  EXPECT_EQ(join({}, ", "), "");
}

TEST(Strings, PrefixAndSuffix) {
  EXPECT_TRUE(starts_with("reward.py", "reward"));
  EXPECT_FALSE(starts_with("re", "reward"));
  EXPECT_TRUE(ends_with("reward.py", ".py"));
  EXPECT_FALSE(ends_with("y", ".py"));
  EXPECT_TRUE(ends_with("", ""));
}

// The check value of the CRC catalogue, and two vectors of RFC 3720, appendix B.4.
TEST(Crc32c, KnownVectors) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c(""), 0U);
}

TEST(Crc32c, GoesOnFromAnEarlierSum) { EXPECT_EQ(crc32c("56789", crc32c("1234")), 0xe3069283U); }

Result<int> half_of(int value) {
  if (value % 2 != 0) return Error{Code::invalid_argument, cat(value, " is odd")};
  return value / 2;
}
Result<int> quarter_of(int value) {
  CORISCO_TRY(const int half, half_of(value));
  return half_of(half);
}
Result<void> check_even(int value) {
  CORISCO_CHECK(half_of(value));
  return {};
}

TEST(Result, CarriesAValueOrAnError) {
  EXPECT_EQ(half_of(8).value(), 4);
  EXPECT_FALSE(half_of(3).ok());
  EXPECT_EQ(half_of(3).error().code, Code::invalid_argument);
  EXPECT_EQ(half_of(3).error().message, "3 is odd");
}

TEST(Result, TryAndCheckReturnTheFirstError) {
  EXPECT_EQ(quarter_of(8).value(), 2);
  EXPECT_EQ(quarter_of(6).error().message, "3 is odd");
  EXPECT_TRUE(check_even(2).ok());
  EXPECT_EQ(check_even(5).error().message, "5 is odd");
}

TEST(Result, HoldsWhatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

TEST(ResultDeathTest, TheWrongSideIsABug) {
  EXPECT_DEATH((void)half_of(3).value(), "3 is odd");
  EXPECT_DEATH((void)half_of(4).error(), "holds a value");
}

TEST(Result, EveryCodeHasItsName) {
  EXPECT_STREQ(to_string(Code::invalid_argument), "invalid_argument");
  EXPECT_STREQ(to_string(Code::not_found), "not_found");
  EXPECT_STREQ(to_string(Code::conflict), "conflict");
  EXPECT_STREQ(to_string(Code::overloaded), "overloaded");
  EXPECT_STREQ(to_string(Code::timeout), "timeout");
  EXPECT_STREQ(to_string(Code::cancelled), "cancelled");
  EXPECT_STREQ(to_string(Code::unavailable), "unavailable");
  EXPECT_STREQ(to_string(Code::internal), "internal");
}
}  // namespace
}  // namespace corisco
