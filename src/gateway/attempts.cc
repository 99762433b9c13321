#include "corisco/gateway/attempts.h"

#include <utility>

#include "corisco/base/assert.h"
#include "corisco/base/files.h"
#include "corisco/base/secret.h"
#include "corisco/base/strings.h"
#include "gateway/attempt_state.h"

namespace corisco::gateway {
namespace {
constexpr std::size_t kKeyBytes = 20;
}

Attempts::Attempts(const Clock& clock) : clock_(clock) {}
Attempts::~Attempts() = default;

std::string Attempts::open(const AttemptOpening& opening) {
  auto state = std::make_shared<AttemptState>();
  state->opening = opening;
  state->key = "cor-" + new_secret(kKeyBytes);
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
