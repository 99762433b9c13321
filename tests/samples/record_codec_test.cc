// The bytes of payloads: whole numbers, the columns of a reply, and what a continued call leaves out.
#include "samples/record_codec.h"

#include <gtest/gtest.h>

#include <cmath>

#include "samples/sample_calls.h"
#include "samples/varint.h"

namespace corisco::samples {
namespace {
std::string varint(std::uint64_t value) {
  std::string bytes;
  put_varint(bytes, value);
  return bytes;
}

Call coded(const Call& call) {
  const Record record = CallRecorded{call};
  auto decoded = decode(type_of(record), encode(record));
  EXPECT_TRUE(decoded.ok());
  return std::get<CallRecorded>(decoded.value()).call;
}

std::size_t bytes_of(const Call& call) { return encode(CallRecorded{call}).size(); }

TEST(Varint, AsWorkedOutByHand) {
  EXPECT_EQ(varint(0), std::string(1, '\0'));
  EXPECT_EQ(varint(127), "\x7f");
  EXPECT_EQ(varint(128), "\x80\x01");
  EXPECT_EQ(varint(300), "\xac\x02");
  EXPECT_EQ(varint(0xffffffffffffffffU), std::string(9, '\xff') + '\x01');
}

TEST(Varint, ReadsBackAndRefusesOtherForms) {
  for (const std::uint64_t value : {0UL, 1UL, 127UL, 128UL, 16383UL, 16384UL, 1UL << 35, 0xffffffffffffffffUL}) {
    const std::string bytes = varint(value) + "rest";
    std::string_view left = bytes;
    EXPECT_EQ(take_varint(left), value);
    EXPECT_EQ(left, "rest");
  }
  for (const std::string& bad : {std::string(), std::string("\x80"), std::string("\x80\0", 2),
                                 std::string(10, '\xff'), std::string(9, '\xff') + '\x02'}) {
    std::string_view left = bad;
    EXPECT_FALSE(take_varint(left)) << bad.size();
  }
}

// Ids of 3 bytes, 4 bytes of log-probability, and 4 more only where the draw had another one.
TEST(RecordCodec, ATokenTakesSevenBytes) {
  const auto call_of = [](std::size_t num_tokens, float drawn) {
    Call call = make_call(0, {1}, {});
    for (std::size_t i = 0; i < num_tokens; ++i) call.tokens.push_back({50000, -1.5F, drawn, PolicyVersion{9}});
    return call;
  };
  EXPECT_EQ(bytes_of(call_of(101, -1.5F)) - bytes_of(call_of(1, -1.5F)), 700U);
  EXPECT_EQ(bytes_of(call_of(101, -1.0F)) - bytes_of(call_of(1, -1.0F)), 1100U);
}

TEST(RecordCodec, TokensComeBackBitForBit) {
  Call call = make_call(0, {1}, {});
  call.tokens = {{-1, -0.0F, 0.0F, PolicyVersion{3}},
                 {2147483647, std::nanf("1"), -2.5F, PolicyVersion{3}},
                 {7, -1e-30F, -1e-30F, PolicyVersion{4}},
                 {8, -3.25F, -3.25F, PolicyVersion{3}}};
  const Call read = coded(call);
  ASSERT_EQ(read.tokens.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(read.tokens[i].id, call.tokens[i].id);
    EXPECT_EQ(read.tokens[i].policy_version, call.tokens[i].policy_version);
    EXPECT_EQ(std::signbit(read.tokens[i].sampled_logprob), std::signbit(call.tokens[i].sampled_logprob));
    EXPECT_TRUE(i == 1 || read.tokens[i].sampled_logprob == call.tokens[i].sampled_logprob);
    EXPECT_EQ(read.tokens[i].drawn_logprob, call.tokens[i].drawn_logprob);
  }
  EXPECT_TRUE(std::isnan(read.tokens[1].sampled_logprob));
  EXPECT_FALSE(std::signbit(read.tokens[0].drawn_logprob));
}

TEST(RecordCodec, ACallWithABaseHoldsWhatItAdds) {
  Call call = make_call(1, {1, 2, 3, 4, 5}, {6});
  call.request_json = "[{a},{b}]";
  call.base = CallId{100};
  call.base_tokens = 3;
  call.base_request_bytes = 4;
  const Call read = coded(call);
  EXPECT_EQ(read.base, CallId{100});
  EXPECT_EQ(read.base_tokens, 3U);
  EXPECT_EQ(read.base_request_bytes, 4U);
  EXPECT_EQ(read.prompt_ids.items(), (std::vector<TokenId>{4, 5}));
  EXPECT_EQ(read.request_json.items(), ",{b}]");
}

// Three ids below 128 and one of two bytes, the number of shared ones and of the others before them.
TEST(RecordCodec, ExpertsAreALastFieldThatOtherCallsLack) {
  Call call = make_call(0, {1, 2}, {3});
  const auto without = bytes_of(call);
  EXPECT_TRUE(coded(call).routed_experts.empty());
  call.routed_experts = {0, 127, 128, 65};
  EXPECT_EQ(bytes_of(call) - without, 7U);
  EXPECT_EQ(coded(call).routed_experts.items(), (std::vector<std::uint16_t>{0, 127, 128, 65}));
  const std::string whole = encode(CallRecorded{call});
  for (std::size_t size = without + 1; size < whole.size(); ++size)
    EXPECT_FALSE(decode(type_of(CallRecorded{}), std::string_view(whole).substr(0, size)).ok()) << size;
}
}  // namespace
}  // namespace corisco::samples
