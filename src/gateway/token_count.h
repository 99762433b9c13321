// POST /v1/messages/count_tokens: how many tokens a conversation's prompt has. Samples nothing, so it
// neither waits at the gate nor counts as a call.
#pragma once
#include <boost/asio/awaitable.hpp>

#include "gateway/auth.h"
#include "gateway/call_context.h"
#include "gateway/reply_writer.h"
#include "gateway/request_body.h"

namespace corisco::gateway {
// context and reply outlive it. In a rollout the count is that of the very prompt that a message with
// this body would have: exact ids where it goes on from an earlier call.
boost::asio::awaitable<void> count_tokens(CallContext& context, Caller caller, RequestBody body,
                                          ReplyWriter& reply);
}  // namespace corisco::gateway
