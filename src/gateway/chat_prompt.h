// From a request to prompt ids: messages rendered, or a completion's prompt as it came; then continued
// from the attempt's earlier calls where it goes on from one, else encoded as a whole.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <string>
#include <vector>

#include "gateway/api_error.h"
#include "gateway/attempt_state.h"
#include "gateway/call_context.h"
#include "gateway/chat_request.h"
#include "gateway/shared_prompt.h"

namespace corisco::gateway {
struct Prompt {
  std::vector<TokenId> ids;              // match.ids, then tail_ids
  CallTree::Match match;
  SplitCause split = SplitCause::none;   // why it does not go on from a branch's last call
  std::string tail_text;                 // what it adds; of messages: with LiteralText's marks
  std::vector<TokenId> tail_ids;
  std::string turn_beginning;            // the end of tail_text that is the reply's turn already
  SharedPrompt shared;                   // as it is kept; outside any rollout by itself
};
// attempt: null outside any rollout; kept alive by the caller.
boost::asio::awaitable<OrApiError<Prompt>> make_prompt(CallContext& context, const ChatRequest& request,
                                                       AttemptState* attempt);
}  // namespace corisco::gateway
