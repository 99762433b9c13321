// A Responses request that names what its attempt was answered before, instead of sending it again.
// Runs in the call's coroutine; large conversations are put together on the text thread.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <optional>

#include "gateway/api_error.h"
#include "gateway/attempt_state.h"
#include "gateway/call_context.h"
#include "gateway/chat_request.h"

namespace corisco::gateway {
// Completes the request's messages, if they need anything earlier; any other request stays as it is.
// attempt: null outside any rollout, where nothing is kept.
boost::asio::awaitable<std::optional<ApiError>> recall_earlier(CallContext& context, ChatRequest& request,
                                                               const AttemptState* attempt);
}  // namespace corisco::gateway
