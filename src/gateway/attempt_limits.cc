#include "gateway/attempt_limits.h"

namespace corisco::gateway {
namespace asio = boost::asio;

std::optional<ApiError> interruption(bool is_client_gone, const AttemptState* attempt) {
  if (is_client_gone) {
    ApiError gone;
    gone.status = 499;
    gone.code = "client_gone";
    return gone;
  }
  if (attempt == nullptr || !attempt->is_closed) return std::nullopt;
  auto error = from_error({Code::conflict, "the rollout has ended"});
  error.code = "rollout_closed";
  return error;
}

bool is_at_call_cap(const AttemptState* attempt, const config::Gateway& options) {
  return attempt != nullptr && attempt->summary.num_calls >= options.calls_per_attempt_max;
}

// Not held time: an agent that loops uses up its rollout's time, not the machine.
asio::awaitable<std::optional<ApiError>> keep_to_rate(
    AttemptState& attempt, std::uint32_t calls_per_minute_max, GatewayMetrics& metrics,
    const std::function<std::optional<ApiError>()>& interrupted,
    const std::function<asio::awaitable<void>(TimePoint)>& wait) {
  const auto arrived = real_clock().now();
  const auto moment = attempt.rate.reserve(arrived, calls_per_minute_max);
  if (moment > arrived) metrics.rate_held.add();
  while (real_clock().now() < moment) {
    if (auto failure = interrupted()) {
      attempt.rate.release(moment);
      co_return failure;
    }
    co_await wait(moment);
  }
  co_return std::nullopt;
}
}  // namespace corisco::gateway
