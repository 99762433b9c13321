#include "gateway/routes.h"

#include <algorithm>
#include <array>

#include "corisco/base/strings.h"
#include "gateway/agent_lightning/paths.h"
#include "gateway/ascii.h"

namespace corisco::gateway {
namespace {
struct Named {
  std::string_view path;
  RouteKind kind;
};
constexpr std::array kPlain = {
    Named{"/", RouteKind::front_page},           Named{"/metrics", RouteKind::metrics},
    Named{"/healthz", RouteKind::healthz},       Named{"/readyz", RouteKind::readyz},
    Named{"/admin/state", RouteKind::admin_state},
    Named{"/admin/pause", RouteKind::admin_pause},
    Named{"/admin/resume", RouteKind::admin_resume},
    Named{"/admin/checkpoint", RouteKind::admin_checkpoint},
    Named{"/admin/rollouts", RouteKind::admin_open_rollout},
};
constexpr std::array kModel = {
    Named{"/v1/chat/completions", RouteKind::chat_completions},
    Named{"/v1/completions", RouteKind::completions},
    Named{"/v1/responses", RouteKind::responses},
    Named{"/v1/messages", RouteKind::messages},
    Named{"/v1/messages/count_tokens", RouteKind::count_tokens},
    Named{"/v1/models", RouteKind::models},
    Named{"/inference/v1/generate", RouteKind::vllm_generate},
    Named{"/generate", RouteKind::sglang_generate},
    Named{"/v1/embeddings", RouteKind::unsupported_model_route},
};

template <class Table>
RouteKind look_up(const Table& table, std::string_view path) {
  for (const auto& entry : table)
    if (entry.path == path) return entry.kind;
  return RouteKind::unknown;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!starts_with(text, prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Takes PREFIX{rollout}/attempt/{attempt} off the path; the rest is empty or begins with a slash.
std::optional<AttemptKey> take_attempt(std::string_view& path, std::string_view prefix) {
  auto rest = path;
  AttemptKey attempt;
  if (!take(rest, prefix) || !ascii::take_number(rest, attempt.rollout.value) || !take(rest, "/attempt/") ||
      !ascii::take_number(rest, attempt.attempt) || (!rest.empty() && rest.front() != '/'))
    return std::nullopt;
  path = rest;
  return attempt;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Route model_route(std::string_view path, std::optional<AttemptKey> attempt) {
  Route route{look_up(kModel, path), attempt, {}};
  if (route.kind == RouteKind::unknown && take(path, "/v1/models/") && !path.empty()) {
    route.kind = RouteKind::model;
    route.model_id = percent_decode(path);
  }
  return route;
}
}  // namespace

std::string percent_decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    decoded += low >= 0 ? static_cast<char>(high * 16 + low) : text[i];
    if (low >= 0) i += 2;
  }
  return decoded;
}

const char* to_string(RouteKind kind) {
  switch (kind) {
    case RouteKind::front_page: return "front_page";
    case RouteKind::metrics: return "metrics";
    case RouteKind::healthz: return "healthz";
    case RouteKind::readyz: return "readyz";
    case RouteKind::models: return "models";
    case RouteKind::model: return "model";
    case RouteKind::chat_completions: return "chat_completions";
    case RouteKind::completions: return "completions";
    case RouteKind::responses: return "responses";
    case RouteKind::messages: return "messages";
    case RouteKind::count_tokens: return "count_tokens";
    case RouteKind::vllm_generate: return "vllm_generate";
    case RouteKind::sglang_generate: return "sglang_generate";
    case RouteKind::unsupported_model_route: return "unsupported_model_route";
    case RouteKind::events: return "events";
    case RouteKind::admin_state: return "admin_state";
    case RouteKind::admin_pause: return "admin_pause";
    case RouteKind::admin_resume: return "admin_resume";
    case RouteKind::admin_checkpoint: return "admin_checkpoint";
    case RouteKind::admin_open_rollout: return "admin_open_rollout";
    case RouteKind::admin_finish_attempt: return "admin_finish_attempt";
    case RouteKind::lightning_rollouts: return "lightning_rollouts";
    case RouteKind::lightning_terminal_rollouts: return "lightning_terminal_rollouts";
    case RouteKind::lightning_rollout: return "lightning_rollout";
    case RouteKind::lightning_rollout_events: return "lightning_rollout_events";
    case RouteKind::lightning_attempt_events: return "lightning_attempt_events";
    case RouteKind::lightning_models: return "lightning_models";
    case RouteKind::lightning_pause: return "lightning_pause";
    case RouteKind::lightning_resume: return "lightning_resume";
    case RouteKind::lightning_state: return "lightning_state";
    case RouteKind::unknown: return "unknown";
  }
  return "unknown";
}

Route find_route(std::string_view target) {
  auto path = target.substr(0, target.find('?'));
  if (const auto kind = look_up(kPlain, path); kind != RouteKind::unknown) return {kind, {}, {}};
  if (const auto attempt = take_attempt(path, "/admin/rollouts/"))
    return {path == "/finish" ? RouteKind::admin_finish_attempt : RouteKind::unknown, attempt, {}};
  if (auto route = lightning::find_route(path)) return std::move(*route);
  if (auto named = lightning::take_proxy(path)) {
    auto route = model_route(path, {});
    route.lightning = std::move(named);
    return route;
  }
  const auto attempt = take_attempt(path, "/rollout/");
  if (attempt && path == "/events") return {RouteKind::events, attempt, {}};
  return model_route(path, attempt);
}

const char* allowed_methods(RouteKind kind) {
  switch (kind) {
    case RouteKind::chat_completions:
    case RouteKind::completions:
    case RouteKind::responses:
    case RouteKind::messages:
    case RouteKind::count_tokens:
    case RouteKind::vllm_generate:
    case RouteKind::sglang_generate:
    case RouteKind::events:
    case RouteKind::admin_pause:
    case RouteKind::admin_resume:
    case RouteKind::admin_checkpoint:
    case RouteKind::admin_open_rollout:
    case RouteKind::admin_finish_attempt:
    case RouteKind::lightning_attempt_events:
    case RouteKind::lightning_pause:
    case RouteKind::lightning_resume: return "POST";
    case RouteKind::lightning_rollouts: return "GET, HEAD, POST";
    case RouteKind::lightning_rollout: return "GET, HEAD, PATCH, DELETE";
    case RouteKind::lightning_models: return "GET, HEAD, POST, DELETE";
    default: return "GET, HEAD";
  }
}

bool allows_method(RouteKind kind, std::string_view method) {
  if (kind == RouteKind::unsupported_model_route || kind == RouteKind::unknown) return true;
  const auto allowed = split(allowed_methods(kind), ',');
  return std::any_of(allowed.begin(), allowed.end(), [&](const auto& one) { return trim(one) == method; });
}

bool is_model_route(RouteKind kind) {
  return takes_conversation(kind) || kind == RouteKind::models || kind == RouteKind::model ||
         kind == RouteKind::unsupported_model_route;
}

bool takes_conversation(RouteKind kind) {
  switch (kind) {
    case RouteKind::chat_completions:
    case RouteKind::completions:
    case RouteKind::responses:
    case RouteKind::messages:
    case RouteKind::count_tokens:
    case RouteKind::vllm_generate:
    case RouteKind::sglang_generate: return true;
    default: return false;
  }
}

bool is_admin_route(RouteKind kind) {
  return kind >= RouteKind::admin_state && kind <= RouteKind::admin_finish_attempt;
}

bool is_lightning_route(RouteKind kind) {
  return kind >= RouteKind::lightning_rollouts && kind <= RouteKind::lightning_state;
}

bool is_answered_when_full(RouteKind kind) {
  switch (kind) {
    case RouteKind::healthz:
    case RouteKind::readyz:
    case RouteKind::metrics:
    case RouteKind::events:
    case RouteKind::lightning_attempt_events:
    case RouteKind::lightning_pause:
    case RouteKind::lightning_resume:
    case RouteKind::lightning_state: return true;
    default: return is_admin_route(kind);
  }
}
}  // namespace corisco::gateway
