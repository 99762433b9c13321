// What ends or delays a model call of an attempt, whichever server replies to it: its client or its rollout is
// gone, its calls are used up, its minute is full. Io thread.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <optional>

#include "corisco/base/clock.h"
#include "corisco/config/config.h"
#include "gateway/api_error.h"
#include "gateway/attempt_state.h"
#include "gateway/gateway_metrics.h"

namespace corisco::gateway {
// attempt: null outside any rollout. The error of a client that is gone is never sent.
std::optional<ApiError> interruption(bool is_client_gone, const AttemptState* attempt);

// Of gateway.calls_per_attempt_max; a call outside any rollout always has some left.
bool is_at_call_cap(const AttemptState* attempt, const config::Gateway& options);

// Returns when the attempt's minute has room (gateway.calls_per_minute_max), or with what interrupted gives.
// wait: until then, or until something happened. Both outlive the coroutine.
boost::asio::awaitable<std::optional<ApiError>> keep_to_rate(
    AttemptState& attempt, std::uint32_t calls_per_minute_max, GatewayMetrics& metrics,
    const std::function<std::optional<ApiError>()>& interrupted,
    const std::function<boost::asio::awaitable<void>(TimePoint)>& wait);
}  // namespace corisco::gateway
