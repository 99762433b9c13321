// Which earlier call of the attempt a rendering goes on from, and if it is none, why not. Turns that came
// back in a form not seen before are read, and the tree learns the form. Io thread; long texts are read
// by the worker.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <string>

#include "gateway/attempt_state.h"
#include "gateway/call_context.h"
#include "gateway/chat_request.h"

namespace corisco::gateway {
struct Continued {
  CallTree::Match match;
  SplitCause split = SplitCause::none;
};
// All outlive it.
boost::asio::awaitable<Continued> find_continuation(CallContext& context, AttemptState& attempt,
                                                    const ChatRequest& request, const std::string& rendering);
}  // namespace corisco::gateway
