// Which model names an attempt's calls of the policy were made under. Several, of which the config declares
// none, may be several models of the harness: a judge, a user's simulator, an older checkpoint. Training them
// all as one policy would be wrong without a sign of it, so nothing of such an attempt is trained.
//   Calls beside the task are none of the policy's: a title under the name of a small model changes nothing.
// Whether a call is beside the task, or sampled in vain, may be known only later; so the answer may change,
// both ways. Owned by the attempt; io thread; pure.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "corisco/types/call.h"

namespace corisco::gateway {
class ModelUse {
 public:
  // A recorded call. name: empty if none was sent, which tells nothing.
  void note(CallId call, const std::string& name);
  // It turns out to be none of the policy's.
  void forget(CallId call);
  // It counts as if no name had been sent: trained, though beside the task.
  void forget_name(CallId call);

  bool has_several() const { return num_calls_.size() > 1; }
  std::vector<std::string> names() const;
  // The calls to which has_several() has become the answer since the last time.
  std::vector<CallId> settle();

 private:
  struct Noted {
    CallId call;
    std::string name;
    bool is_marked = false;              // as one of several
  };
  Noted* find(CallId call);
  void take_name(Noted& noted);

  std::vector<Noted> noted_;             // at most gateway.calls_per_attempt_max times choices
  std::map<std::string, std::size_t> num_calls_;   // by name
};
}  // namespace corisco::gateway
