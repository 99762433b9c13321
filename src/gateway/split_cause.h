// Why a request does not go on from an earlier call of its attempt, or from less of it than there is: told
// by comparing its messages with those of the earlier call that it is nearest to. Pure; any thread.
#pragma once
#include <string>
#include <vector>

#include "gateway/continuation.h"
#include "gateway/reply_meaning.h"

namespace corisco::gateway {
struct Conversation {
  std::string messages_json;
  std::uint64_t tools_hash = 0, kwargs_hash = 0;
  bool goes_on = false;                  // from an earlier call, though not from a branch's last one
};
// earlier: at least one, the newest first.
//   [sys, user A, reply, user C] after [sys, user A], reply "x" and [sys, user A, reply, user B]:
//     nearest is the latter; user C is in user B's place: a fork if it goes on, else history_changed
SplitCause split_cause(const Conversation& request, const std::vector<CallTree::Earlier>& earlier,
                       const ReplyReader& reader);
// Whether one of these replies, which the rendering does not say, is among the messages all the same, where it
// belongs: then the template left it out or wrote it otherwise.
bool is_sent_back(const Conversation& request, const std::vector<CallTree::Earlier>& replied,
                  const ReplyReader& reader);
}  // namespace corisco::gateway
