#include "gateway/agent_lightning/paths.h"

#include <algorithm>
#include <string>
#include <vector>

#include "corisco/base/strings.h"
#include "gateway/ascii.h"

namespace corisco::gateway::lightning {
namespace {
constexpr std::size_t kNameBytesMax = 128;

Route named(RouteKind kind, LightningPath path = {}) {
  Route route;
  route.kind = kind;
  route.lightning = std::move(path);
  return route;
}
}  // namespace

bool is_rollout_name(std::string_view name) {
  const auto is_plain = [](char c) {
    return ascii::is_alphanumeric(c) || c == '.' || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= kNameBytesMax && std::all_of(name.begin(), name.end(), is_plain);
}

std::optional<Route> find_route(std::string_view path) {
  if (path == "/proxy/pause") return named(RouteKind::lightning_pause);
  if (path == "/proxy/resume") return named(RouteKind::lightning_resume);
  if (path == "/proxy/state") return named(RouteKind::lightning_state);
  if (path == "/api/models") return named(RouteKind::lightning_models);
  if (path == "/api/rollouts") return named(RouteKind::lightning_rollouts);
  constexpr std::string_view kRollouts = "/api/rollouts/";
  if (!starts_with(path, kRollouts)) return std::nullopt;
  const auto parts = split(path.substr(kRollouts.size()), '/');
  if (!is_rollout_name(parts[0])) return std::nullopt;
  if (parts.size() == 1 && parts[0] == "terminal") return named(RouteKind::lightning_terminal_rollouts);
  if (parts.size() == 1) return named(RouteKind::lightning_rollout, {parts[0], {}, {}});
  if (parts.size() == 2 && parts[1] == "events")
    return named(RouteKind::lightning_rollout_events, {parts[0], {}, {}});
  const bool names_attempt = parts.size() == 4 && parts[1] == "attempt" && parts[3] == "events";
  if (names_attempt) return named(RouteKind::lightning_attempt_events, {parts[0], parts[2], {}});
  return std::nullopt;
}

std::optional<LightningPath> take_proxy(std::string_view& path) {
  constexpr std::string_view kBegin = "/proxy/rollout/", kEnd = "/openai/v1/";
  const auto end = path.find(kEnd);
  if (!starts_with(path, kBegin) || end == std::string_view::npos || end < kBegin.size()) return std::nullopt;
  const auto parts = split(path.substr(kBegin.size(), end - kBegin.size()), '/');
  if (parts.size() != 5 || parts[1] != "attempt" || parts[3] != "mode" || !is_rollout_name(parts[0]))
    return std::nullopt;
  if (parts[4] != "train" && parts[4] != "val") return std::nullopt;
  path.remove_prefix(end + std::string_view("/openai").size());
  return LightningPath{parts[0], parts[2], parts[4]};
}
}  // namespace corisco::gateway::lightning
