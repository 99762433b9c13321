#include "app/kept_calls.h"

#include <algorithm>

namespace corisco::app {
namespace {
std::size_t bytes_of(const std::vector<Call>& calls) {
  std::size_t bytes = 0;
  for (const auto& call : calls) {
    bytes += sizeof(Call) + call.prompt_ids.num_own() * sizeof(TokenId) + call.tokens.size() * sizeof(SampledToken) +
             call.request_json.num_own() + call.reply_text.size() +
             call.routed_experts.num_own() * sizeof(std::uint16_t);
  }
  return bytes;
}
}  // namespace

void KeptCalls::keep(const FinishedRollout& finished) {
  if (expected_.erase(finished.spec.id) == 0) return;
  const auto bytes = bytes_of(finished.calls);
  if (bytes > bytes_max_) return;
  bytes_ += bytes;
  entries_.push_back({finished.spec.id, finished.calls, bytes});
  while (bytes_ > bytes_max_) {
    bytes_ -= entries_.front().bytes;
    entries_.pop_front();
  }
}

void KeptCalls::forget(RolloutId rollout) {
  expected_.erase(rollout);
  const auto is_it = [rollout](const auto& entry) { return entry.rollout == rollout; };
  const auto found = std::find_if(entries_.begin(), entries_.end(), is_it);
  if (found == entries_.end()) return;
  bytes_ -= found->bytes;
  entries_.erase(found);
}

const std::vector<Call>* KeptCalls::find(RolloutId rollout) const {
  for (const auto& entry : entries_)
    if (entry.rollout == rollout) return &entry.calls;
  return nullptr;
}
}  // namespace corisco::app
