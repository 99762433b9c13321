// The ids of tool calls that the gateway issues. Who has not seen one cannot guess it: they lead to stored
// replies. Io thread.
#pragma once
#include <string>

namespace corisco::gateway {
class CallIds {
 public:
  // secret: the run's, so that a run which goes on issues the ids that it would have issued; templates may
  // print them into prompts. Empty: one of this process, from the kernel.
  explicit CallIds(std::string secret);
  // Of one choice: what its calls' ids are made of. Never shown. name: differs between choices of requests.
  std::string seed(const std::string& name) const;

 private:
  std::string secret_;
};
// Of a reply's call by its index, from 0: "call_" and 32 hex digits; short: nine letters and digits.
std::string issued_call_id(const std::string& seed, int index, bool is_short);
}  // namespace corisco::gateway
