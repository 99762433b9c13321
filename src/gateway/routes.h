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
  completions,               // of a prompt that no template renders
  responses,
  messages,                  // Anthropic's
  count_tokens,              // of such messages
  vllm_generate,             // token ids in, token ids out
  sglang_generate,
  unsupported_model_route,   // of another wire format, not spoken here
  events,
  admin_state,
  admin_pause,
  admin_resume,
  admin_checkpoint,
  admin_open_rollout,
  admin_finish_attempt,
  lightning_rollouts,        // Agent Lightning's API (agent_lightning/)
  lightning_terminal_rollouts,
  lightning_rollout,
  lightning_rollout_events,
  lightning_attempt_events,
  lightning_models,
  lightning_pause,
  lightning_resume,
  lightning_state,
  unknown,
};
const char* to_string(RouteKind kind);   // the metric label

// How a path of Agent Lightning's names a rollout: by texts. Empty where the path has no such part.
struct LightningPath {
  std::string rollout, attempt, mode;
};

struct Route {
  RouteKind kind = RouteKind::unknown;
  std::optional<AttemptKey> attempt;     // from /rollout/{rollout}/attempt/{attempt}
  std::string model_id;                  // of /v1/models/{id}, percent-decoded
  std::optional<LightningPath> lightning = {};   // of its API, and of model routes under its proxy's path
};

std::string percent_decode(std::string_view text);
// target: path and query as the request line has them.
Route find_route(std::string_view target);
// "GET, HEAD" or "POST".
const char* allowed_methods(RouteKind kind);
bool allows_method(RouteKind kind, std::string_view method);
bool is_model_route(RouteKind kind);     // needs an attempt's key, or a call outside any rollout
bool takes_conversation(RouteKind kind);   // whose body may be as long as a history
bool is_admin_route(RouteKind kind);
bool is_lightning_route(RouteKind kind);
// Short, and wanted most when too many connections are open: probes, metrics, what steers the daemon, rewards.
bool is_answered_when_full(RouteKind kind);
}  // namespace corisco::gateway
