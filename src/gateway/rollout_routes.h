// /admin/rollouts, its finish, and posted events: JSON in, JSON out, over the RolloutPort. Io thread.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <string>

#include "corisco/gateway/ports.h"
#include "gateway/reply_writer.h"
#include "gateway/request_body.h"
#include "gateway/text_worker.h"

namespace corisco::gateway {
// {"task": {...}, "mode": "train"|"val"} -> 201 {rollout_id, attempt, base_url, api_key, reward_url}.
// server_url: as the client reached it, "http://host:port".
boost::asio::awaitable<OrApiError<Reply>> open_rollout(TextWorker& worker, RolloutPort& rollouts, RequestBody body,
                                                       std::string server_url);
// Answered when the end is kept, or its grading has begun: an end that was told is not undone by a kill.
boost::asio::awaitable<OrApiError<Reply>> finish_attempt(RolloutPort& rollouts, CallSink& calls, AttemptKey attempt);
// {"event_type": "reward", "data": {"value": ..., "note": ...}}. A value is a finite number or a
// boolean; anything else is refused by name.
OrApiError<Reply> post_event(RolloutPort& rollouts, AttemptKey attempt, const RequestBody& body);
}  // namespace corisco::gateway
