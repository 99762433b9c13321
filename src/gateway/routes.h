// Which thing a request target names. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "corisco/types/call.h"

namespace corisco::gateway {
enum class RouteKind : std::uint8_t {
  front_page,
  metrics,
  healthz,
  readyz,
  models,
  model,
  chat_completions,
  messages,                  // Anthropic's
  count_tokens,              // of such messages
  unsupported_model_route,   // of another wire format, not spoken here
  events,
  admin_state,
  admin_pause,
  admin_resume,
  admin_open_rollout,
  admin_finish_attempt,
  unknown,
};
const char* to_string(RouteKind kind);   // the metric label

struct Route {
  RouteKind kind = RouteKind::unknown;
  std::optional<AttemptKey> attempt;     // from /rollout/{rollout}/attempt/{attempt}
  std::string model_id;                  // of /v1/models/{id}, percent-decoded
};

// target: path and query as the request line has them.
Route find_route(std::string_view target);
// "GET, HEAD" or "POST".
const char* allowed_methods(RouteKind kind);
bool allows_method(RouteKind kind, std::string_view method);
bool is_model_route(RouteKind kind);     // needs an attempt's key, or a call outside any rollout
bool takes_conversation(RouteKind kind);   // whose body may be as long as a history
bool is_admin_route(RouteKind kind);
}  // namespace corisco::gateway
