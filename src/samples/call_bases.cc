#include "samples/call_bases.h"

#include "corisco/base/strings.h"
#include "corisco/types/token_ids.h"

namespace corisco::samples {
namespace {
template <class T>
bool begins_alike(const SharedPrefix<T>& whole, const SharedPrefix<T>& base, std::size_t size) {
  if (size > base.size() || size > whole.size()) return false;
  const auto items = whole.items();
  return base.common_with(std::span<const T>(items).first(size)) == size;
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
    attempt->second.calls[call.id] = {
        SharedPrefix<TokenId>::extend(call.prompt_ids, call.prompt_ids.size(), token_ids(call.tokens)), call.request_json};
  }
}

void CallBases::check(Call& call) const {
  if (const Beginning* base = call.base ? find(call) : nullptr) {
    if (begins_alike(call.prompt_ids, base->ids, call.base_tokens) &&
        begins_alike(call.request_json, base->request_json, call.base_request_bytes)) {
      return;
    }
  }
  call.base = {};
  call.base_tokens = call.base_request_bytes = 0;
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
