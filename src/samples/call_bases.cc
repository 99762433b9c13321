#include "samples/call_bases.h"

#include <algorithm>

#include "corisco/base/strings.h"
#include "corisco/types/token_ids.h"

namespace corisco::samples {
namespace {
// shared: of these, how many first items are stored once if the call says truly what it goes on from. They
// are not looked at; where they are stored twice, all are.
template <class T>
bool begins_alike(const SharedPrefix<T>& whole, const SharedPrefix<T>& base, std::size_t size, std::size_t shared) {
  if (size > base.size() || size > whole.size()) return false;
  shared = std::min(shared, size);
  const auto known = whole.shares_first(shared, base) ? shared : 0;
  const auto ours = whole.tail(known), theirs = base.tail(known);
  return std::equal(ours.begin(), ours.begin() + static_cast<std::ptrdiff_t>(size - known), theirs.begin());
}

// How many first items two have in common, at least. What is stored once is not looked at.
std::size_t num_common(const SharedPrefix<std::uint16_t>& whole, const SharedPrefix<std::uint16_t>& base) {
  const auto shared = whole.size() - whole.num_own();
  const bool is_told = shared > 0 && whole.shares_first(shared, base);
  return is_told ? shared : base.common_with(whole.items());
}

// Calls of earlier attempts are never gone on from, nor those that ran when a daemon ended.
bool ends_all(const Record& record) { return std::holds_alternative<RunResumed>(record); }
RolloutId ended_by(const Record& record) {
  if (const auto* started = std::get_if<AttemptStarted>(&record)) return started->attempt.rollout;
  if (const auto* finished = std::get_if<RolloutFinished>(&record)) return finished->rollout.spec.id;
  return {};
}
}  // namespace

void CallBases::forget(const Record& record) {
  if (ends_all(record)) attempts_.clear();
  attempts_.erase(ended_by(record));
}

void CallBases::see(const Record& record) {
  forget(record);
  if (const auto* started = std::get_if<AttemptStarted>(&record)) {
    attempts_[started->attempt.rollout].number = started->attempt.attempt;
  } else if (const auto* recorded = std::get_if<CallRecorded>(&record)) {
    const Call& call = recorded->call;
    const auto attempt = attempts_.find(call.attempt.rollout);
    if (attempt == attempts_.end() || attempt->second.number != call.attempt.attempt) return;
    const auto num_prompt = call.prompt_ids.size();
    attempt->second.calls[call.id] = {
        SharedPrefix<TokenId>::extend(call.prompt_ids, num_prompt, token_ids(call.tokens)), num_prompt,
        call.request_json, call.routed_experts};
  }
}

void CallBases::check(CallRecorded& record) const {
  check(record.call);
  const Beginning* base = record.call.base ? find(record.call) : nullptr;
  record.base_experts = base == nullptr ? 0 : num_common(record.call.routed_experts, base->routed_experts);
}

void CallBases::check(Call& call) const {
  if (const Beginning* base = call.base ? find(call) : nullptr) {
    if (begins_alike(call.prompt_ids, base->ids, call.base_tokens, base->num_prompt) &&
        begins_alike(call.request_json, base->request_json, call.base_request_bytes, call.base_request_bytes)) {
      return;
    }
  }
  call.base = {};
  call.base_tokens = call.base_request_bytes = 0;
}

Result<void> CallBases::make_whole(CallRecorded& record) const {
  CORISCO_CHECK(make_whole(record.call));
  if (record.base_experts == 0) return {};
  const Beginning* base = record.call.base ? find(record.call) : nullptr;
  if (base == nullptr || record.base_experts > base->routed_experts.size()) {
    return Error{Code::invalid_argument,
                 cat("call ", record.call.id, " shares more experts with call ", record.call.base, " than there are")};
  }
  record.call.routed_experts = SharedPrefix<std::uint16_t>::extend(base->routed_experts, record.base_experts,
                                                                   record.call.routed_experts.items());
  return {};
}

Result<void> CallBases::make_whole(Call& call) const {
  if (!call.base) return {};
  const Beginning* base = find(call);
  if (base == nullptr) {
    return Error{Code::invalid_argument,
                 cat("call ", call.id, " goes on from call ", call.base, ", which is missing")};
  }
  if (call.base_tokens > base->ids.size() || call.base_request_bytes > base->request_json.size()) {
    return Error{Code::invalid_argument,
                 cat("call ", call.id, " goes on from more of call ", call.base, " than there is")};
  }
  call.prompt_ids = SharedPrefix<TokenId>::extend(base->ids, call.base_tokens, call.prompt_ids.items());
  call.request_json =
      SharedPrefix<char>::extend(base->request_json, call.base_request_bytes, call.request_json.items());
  return {};
}

const CallBases::Beginning* CallBases::find(const Call& call) const {
  const auto attempt = attempts_.find(call.attempt.rollout);
  if (attempt == attempts_.end() || attempt->second.number != call.attempt.attempt) return nullptr;
  const auto found = attempt->second.calls.find(call.base);
  return found == attempt->second.calls.end() ? nullptr : &found->second;
}
}  // namespace corisco::samples
