// Who calls: an attempt, known by its key or its path; somebody outside any rollout; the admin.
// Pure but for its look-ups in Attempts.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "corisco/config/config.h"
#include "corisco/gateway/attempts.h"
#include "gateway/api_error.h"
#include "gateway/http_head.h"
#include "gateway/routes.h"

namespace corisco::gateway {
struct Caller {
  std::shared_ptr<AttemptState> attempt;   // null: outside any rollout, or the admin
};

// From "Authorization: Bearer KEY" or "x-api-key: KEY"; empty: none.
std::string presented_key(const Head& head);
// Takes as long for any two texts of the same lengths.
bool equal_in_constant_time(std::string_view a, std::string_view b);

// Model routes and events. The path form needs the key of that attempt.
OrApiError<Caller> identify(const Route& route, const std::string& key, const Attempts& attempts,
                            const config::Gateway& options);
// An open attempt, or why it can't be called: it has ended, or there is none.
OrApiError<Caller> find_attempt(AttemptKey attempt, const Attempts& attempts);
// Whether it looks like an attempt's key.
bool is_attempt_key(const std::string& key);
// /metrics and GET /admin/state: gateway.observer_key, or what opens /admin. Without an observer's key /metrics is open
// to all, and the state as /admin is.
bool is_observer(const std::string& key, const config::Gateway& options);
OrApiError<Caller> identify_observer(const std::string& key, const config::Gateway& options);
// Admin routes: the admin key, or from loopback if there is none. An attempt's key never opens them.
OrApiError<Caller> identify_admin(const std::string& key, bool is_loopback, const Attempts& attempts,
                                  const config::Gateway& options);
}  // namespace corisco::gateway
