// From a chat request to prompt ids: rendered, then continued from the attempt's earlier calls
// where the text goes on from one, else encoded as a whole.
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
  std::string tail_text;                 // what the rendering adds
  std::vector<TokenId> tail_ids;
};
// attempt: null outside any rollout; kept alive by the caller.
boost::asio::awaitable<OrApiError<Prompt>> make_prompt(CallContext& context, const ChatRequest& request,
                                                       const AttemptState* attempt);
}  // namespace corisco::gateway
