// Which calls of an attempt are beside its task: a title, a topic. They are what a harness with tools asks
// without them, in a conversation of one turn, before its first tool-bearing reply. Later such calls are
// its work: they compact a history, or are a sub-agent's.
//   Not told apart: what Qwen Code asks for its memory when it is done, since it goes on from the
//   conversation as any turn does; it is trained like one unless it comes after the outcome, when the
//   attempt takes no more calls. Its memory.enableManagedAutoMemory turns it off.
// Owned by the attempt; io thread.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "corisco/types/call.h"

namespace corisco::gateway {
class SideCalls {
 public:
  static constexpr std::size_t kEarlyMax = 8;   // and so many texts are kept

  // What the rule needs to know of a call.
  struct Facts {
    bool has_tools = false;
    bool is_early = false;               // no call with tools had its reply when it came
    bool is_new = false;                 // it goes on from no other call
  };

  // A request has come. True: it is early.
  bool note_request(bool has_tools);
  // A prompt was made: it goes on from these calls. Returns the calls that turn out to be side calls, since
  // this first one with tools is none of their conversations, and does not use what they were answered.
  std::vector<CallId> note_prompt(const Facts& facts, std::span<const CallId> continued, std::string_view prompt);
  // As far as is known when its reply is there.
  bool is_side(const Facts& facts) const;
  // A reply was recorded to this prompt.
  void note_reply(const Facts& facts, CallId call, std::string_view prompt, std::string_view reply);

 private:
  struct Early {
    CallId call;
    std::string news;                    // the reply, unless its own prompt holds it: a title may repeat the task
  };
  bool has_tools_ = false;               // a call offered tools
  bool has_answered_tools_ = false;      // and has its reply
  bool works_without_ = false;           // so many calls came without: none of them is beside the task
  std::vector<Early> early_;             // without tools, before any with them
};
}  // namespace corisco::gateway
