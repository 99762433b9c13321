// A prompt as its attempt keeps it: what it has in common with an earlier call is that call's, so that an
// attempt takes memory, and its journal space, by what is new in each call. Pure; any thread.
#pragma once
#include <string>
#include <vector>

#include "gateway/continuation.h"

namespace corisco::gateway {
struct SharedPrompt {
  SharedPrefix<TokenId> ids;
  SharedPrefix<char> request;            // Call.request_json
  SharedPrefix<char> messages;           // as templates take them
  SharedPrefix<char> stem;               // the prompt's new text, but for what is its turn's
  CallId base;                           // a recorded call of the attempt; 0: none has a beginning in common
  std::uint32_t base_tokens = 0, base_request_bytes = 0;

  // Its first call is recorded: the others of the same request have all of it in common with that one.
  void note_recorded(CallId call);
  // Fills the call's prompt, request and base.
  void give(Call& call) const;
};

struct NewPrompt {
  std::vector<TokenId> ids;              // all of them
  std::string request, messages;
  std::string stem;
};
// earlier: the call that it goes on from, alone; or others that it may have a beginning in common with.
SharedPrompt share(NewPrompt prompt, const std::vector<CallTree::Earlier>& earlier, bool goes_on);
}  // namespace corisco::gateway
