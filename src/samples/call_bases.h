// The calls that later ones may go on from: what the journal leaves out of a call when it writes it, and
// puts back when it reads. Of running attempts only, and shared with the calls themselves, so that a
// conversation takes the memory of its distinct tokens. One thread.
#pragma once
#include <unordered_map>

#include "corisco/base/result.h"
#include "corisco/samples/journal.h"

namespace corisco::samples {
// Writing: forget(record), check(its call), encode, write, and then, if the write succeeded, see(record).
// What the writer knows is therefore never more than what a reader of the file knows.
// Reading: make_whole(its call), see(record).
class CallBases {
 public:
  // A record is about to be written: what it makes impossible to go on from is forgotten.
  void forget(const Record& record);
  // A record is in the journal, its call whole.
  void see(const Record& record);
  // A call that does not begin as it says, or with a call that is not known here, becomes one without a base.
  void check(CallRecorded& record) const;
  // Puts the base's beginning in front of what a coded call holds. invalid_argument: the base is missing,
  // or shorter than the call says.
  Result<void> make_whole(CallRecorded& record) const;

 private:
  struct Beginning {
    SharedPrefix<TokenId> ids;             // prompt and reply; the prompt's are the call's own, stored once
    std::size_t num_prompt = 0;
    SharedPrefix<char> request_json;
    SharedPrefix<std::uint16_t> routed_experts;
  };
  struct Attempt {
    std::uint32_t number = 0;
    std::unordered_map<CallId, Beginning> calls;
  };
  void check(Call& call) const;
  Result<void> make_whole(Call& call) const;
  const Beginning* find(const Call& call) const;

  std::unordered_map<RolloutId, Attempt> attempts_;
};
}  // namespace corisco::samples
