#include "gateway/auth.h"

#include "corisco/base/strings.h"
#include "gateway/ascii.h"
#include "gateway/attempt_state.h"

namespace corisco::gateway {
namespace {
constexpr std::string_view kAttemptKeyPrefix = "cor-";

ApiError no_key() {
  return authentication_error("no API key: send it as \"Authorization: Bearer KEY\" or \"x-api-key: KEY\"");
}
ApiError wrong_key() { return authentication_error("this API key is not valid here, or no longer"); }

ApiError closed_attempt(AttemptKey attempt) {
  auto error = invalid_request(
      cat("attempt ", attempt.attempt, " of rollout ", attempt.rollout, " has ended"), {}, "rollout_closed");
  error.status = 409;
  error.type = "conflict_error";
  error.is_final = true;
  return error;
}

ApiError unknown_attempt(AttemptKey attempt) {
  auto error = invalid_request(
      cat("there is no attempt ", attempt.attempt, " of rollout ", attempt.rollout), {}, "rollout_not_found");
  error.status = 404;
  error.type = "not_found_error";
  return error;
}

OrApiError<Caller> identify_by_path(AttemptKey attempt, const std::string& key, const Attempts& attempts) {
  if (key.empty()) return no_key();
  auto found = find_attempt(attempt, attempts);
  const auto* caller = std::get_if<Caller>(&found);
  if (caller != nullptr && !equal_in_constant_time(key, caller->attempt->key)) return wrong_key();
  return found;
}
}  // namespace

OrApiError<Caller> find_attempt(AttemptKey attempt, const Attempts& attempts) {
  if (auto state = attempts.by_path(attempt)) return Caller{std::move(state)};
  return attempts.was_closed(attempt) ? closed_attempt(attempt) : unknown_attempt(attempt);
}

bool is_attempt_key(const std::string& key) { return starts_with(key, kAttemptKeyPrefix); }

std::string presented_key(const Head& head) {
  if (const auto* authorization = head.field("authorization")) {
    const auto space = authorization->find(' ');
    if (space != std::string::npos && ascii::lower(authorization->substr(0, space)) == "bearer")
      return std::string(ascii::trim_blanks(std::string_view(*authorization).substr(space)));
  }
  const auto* key = head.field("x-api-key");
  return key == nullptr ? std::string() : *key;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

OrApiError<Caller> identify(const Route& route, const std::string& key, const Attempts& attempts,
                            const config::Gateway& options) {
  if (route.attempt) return identify_by_path(*route.attempt, key, attempts);
  if (auto state = attempts.by_key(key)) return Caller{std::move(state)};
  if (is_attempt_key(key)) return wrong_key();
  if (options.unscoped != "serve") return key.empty() ? no_key() : wrong_key();
  if (!options.static_key.empty() && !equal_in_constant_time(key, options.static_key))
    return key.empty() ? no_key() : wrong_key();
  return Caller{};
}

bool is_observer(const std::string& key, const config::Gateway& options) {
  return !options.observer_key.empty() && equal_in_constant_time(key, options.observer_key);
}

OrApiError<Caller> identify_observer(const std::string& key, const config::Gateway& options) {
  if (options.observer_key.empty() || is_observer(key, options)) return Caller{};
  if (!options.admin_key.empty() && equal_in_constant_time(key, options.admin_key)) return Caller{};
  return key.empty() ? no_key() : wrong_key();
}

OrApiError<Caller> identify_admin(const std::string& key, bool is_loopback, const Attempts& attempts,
                                  const config::Gateway& options) {
  auto forbidden = authentication_error("");
  forbidden.status = 403;
  forbidden.code = "forbidden";
  if (attempts.by_key(key)) {
    forbidden.message = "a rollout's key does not open /admin";
    return forbidden;
  }
  if (!options.admin_key.empty()) {
    if (key.empty()) return no_key();
    return equal_in_constant_time(key, options.admin_key) ? OrApiError<Caller>(Caller{}) : wrong_key();
  }
  if (is_loopback) return Caller{};
  forbidden.message = "without gateway.admin_key, /admin is open to this machine alone";
  return forbidden;
}
}  // namespace corisco::gateway
