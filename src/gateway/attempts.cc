#include "corisco/gateway/attempts.h"

#include <sys/random.h>

#include <array>
#include <utility>

#include "corisco/base/assert.h"
#include "corisco/base/files.h"
#include "corisco/base/strings.h"
#include "gateway/attempt_state.h"

namespace corisco::gateway {
namespace {
// 160 bits from the kernel.
std::string new_key() {
  std::array<unsigned char, 20> bytes{};
  const auto num_read = getrandom(bytes.data(), bytes.size(), 0);
  CORISCO_ASSERT(num_read == static_cast<ssize_t>(bytes.size()), cat("getrandom gave ", num_read));
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string key = "cor-";
  for (const auto byte : bytes) {
    key += kDigits[byte >> 4];
    key += kDigits[byte & 15];
  }
  return key;
}
}  // namespace

Attempts::Attempts(const Clock& clock) : clock_(clock) {}
Attempts::~Attempts() = default;

std::string Attempts::open(const AttemptOpening& opening) {
  auto state = std::make_shared<AttemptState>();
  state->opening = opening;
  state->key = new_key();
  const bool is_new = by_attempt_.emplace(opening.attempt, state).second;
  CORISCO_ASSERT(is_new, cat("rollout ", opening.attempt.rollout, " attempt ", opening.attempt.attempt,
                             " is opened twice"));
  by_key_hash_.emplace(files::sha256(state->key), state);
  newest_ = std::max(newest_, opening.attempt.rollout);
  return state->key;
}

AttemptSummary Attempts::close(AttemptKey attempt) {
  const auto found = by_attempt_.find(attempt);
  if (found == by_attempt_.end()) return {};
  const auto last = summary(attempt);
  const auto state = found->second;
  by_key_hash_.erase(files::sha256(state->key));
  by_attempt_.erase(found);
  state->is_closed = true;
  const auto running = state->running;   // an interrupted call takes itself off the list
  for (const auto& [number, interrupt] : running) interrupt();
  return last;
}

AttemptSummary Attempts::summary(AttemptKey attempt) const {
  const auto state = by_path(attempt);
  if (!state) return {};
  auto summary = state->summary;
  summary.held_seconds = state->held.seconds(clock_.now());
  return summary;
}

void Attempts::set_suspended(bool is_suspended) {
  for (auto& [key, state] : by_attempt_) {
    if (is_suspended == state->is_suspended || (is_suspended && state->running.empty())) continue;
    state->is_suspended = is_suspended;
    if (is_suspended) state->held.begin(clock_.now());
    else state->held.end(clock_.now());
  }
}

std::shared_ptr<AttemptState> Attempts::by_key(const std::string& key) const {
  const auto found = by_key_hash_.find(files::sha256(key));
  return found == by_key_hash_.end() ? nullptr : found->second;
}

std::shared_ptr<AttemptState> Attempts::by_path(AttemptKey attempt) const {
  const auto found = by_attempt_.find(attempt);
  return found == by_attempt_.end() ? nullptr : found->second;
}

bool Attempts::was_closed(AttemptKey attempt) const {
  return attempt.rollout <= newest_ && by_path(attempt) == nullptr;
}
}  // namespace corisco::gateway
