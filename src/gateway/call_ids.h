// The ids of tool calls that the gateway issues. Who has not seen one cannot guess it: they lead to stored
// replies. Io thread.
#pragma once
#include <cstdint>
#include <string>

namespace corisco::gateway {
class CallIds {
 public:
  CallIds();                             // a secret of this process, from the kernel
  // Of one choice: what its calls' ids are made of. Never shown.
  std::string seed(const std::string& request_id, std::size_t choice) const;

 private:
  std::string secret_;
};
// Of a reply's call by its index, from 0: "call_" and 32 hex digits; short: nine letters and digits.
std::string issued_call_id(const std::string& seed, int index, bool is_short);
}  // namespace corisco::gateway
