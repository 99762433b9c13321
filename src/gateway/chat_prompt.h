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

namespace corisco::gateway {
struct Prompt {
  std::vector<TokenId> ids;              // match.ids, then tail_ids
  CallTree::Match match;
  std::string tail_text;                 // what it adds
  std::vector<TokenId> tail_ids;
};
// attempt: null outside any rollout; kept alive by the caller.
boost::asio::awaitable<OrApiError<Prompt>> make_prompt(CallContext& context, const ChatRequest& request,
                                                       const AttemptState* attempt);
}  // namespace corisco::gateway
