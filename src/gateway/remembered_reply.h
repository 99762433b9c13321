// A recorded reply becomes part of its attempt's tree of calls, for later requests to go on from.
// Io thread.
#pragma once
#include <string>
#include <vector>

#include "gateway/chat_prompt.h"
#include "gateway/choice_stream.h"

namespace corisco::gateway {
// prompt: the reply's; of the request's further choices it shares from now on this one's.
void remember_reply(const CallContext& context, AttemptState& attempt, Prompt& prompt, const ChatRequest& request,
                    const ChoiceStream& choice, CallId call);
}  // namespace corisco::gateway
