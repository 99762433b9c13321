// The one map from operating errors to HTTP.
#include <gtest/gtest.h>

#include <array>

#include "gateway/api_error.h"

namespace corisco::gateway {
namespace {
// Agents wait as long as Retry-After says; above 45 s some give up instead.
TEST(ApiErrorTest, StatusesAndWhenToComeAgain) {
  struct Case {
    Code code;
    int status, anthropics_status, retry_after_seconds;
  };
  constexpr std::array cases = {
      Case{Code::invalid_argument, 400, 400, 0}, Case{Code::not_found, 404, 404, 0},
      Case{Code::conflict, 409, 409, 0},         Case{Code::overloaded, 429, 429, 1},
      Case{Code::timeout, 504, 504, 0},          Case{Code::cancelled, 503, 529, 1},
      Case{Code::unavailable, 503, 529, 5},      Case{Code::internal, 500, 500, 0},
  };
  for (const auto& one : cases) {
    const auto error = from_error({one.code, "why"});
    EXPECT_EQ(error.status, one.status) << to_string(one.code);
    EXPECT_EQ(status_in(ErrorShape::anthropic, error), one.anthropics_status) << to_string(one.code);
    EXPECT_EQ(error.retry_after_seconds, one.retry_after_seconds) << to_string(one.code);
  }
}
}  // namespace
}  // namespace corisco::gateway
