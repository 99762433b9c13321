// Replies that a client sends back with another content, though it means the same turn: tool calls whose
// arguments were no JSON (agents repair them, rename the call, wrap what they could not read), arguments
// that a wire format cannot carry whole, reasoning that was left out. They are written as they were before
// a template renders them, so that the turn can be recognised. Pure; any thread.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/chat_request.h"
#include "gateway/choice_stream.h"

namespace corisco::gateway {
struct StoredCall {
  std::string id;                        // as it was issued
  std::string name;
  std::string arguments;
  bool is_broken = false;                // its arguments are no JSON; its text is the reply's
  std::string returns_as;                // the arguments that come back where the wire format bends them
};
struct StoredReply {
  CallId call;
  std::string text;                      // that of broken calls included
  std::string shown_text;                // without it
  std::string reasoning;
  std::vector<StoredCall> calls;
  bool comes_back_otherwise() const;     // whatever the client does
};
StoredReply stored_reply(CallId call, const ChoiceStream& choice, const ChatRequest& request);

// Shared with the worker, which reads them while others are added.
using StoredReplies = std::vector<std::shared_ptr<const StoredReply>>;

struct Restoring {
  bool keeps_reasoning = false;
  std::optional<std::vector<CallId>> only;   // replies that may be rewritten; none: any
};
struct Restored {
  std::string messages_json;
  std::vector<CallId> rewritten;         // replies whose calls are as they were: to be matched, or it was in vain
  bool is_changed = false;
};
Restored restore_replies(const std::string& messages_json, const StoredReplies& replies, const Restoring& options);
}  // namespace corisco::gateway
