// The paths of Agent Lightning's API. Pure.
//   /api/rollouts[/{rollout}[/events | /attempt/{attempt}/events]], /api/rollouts/terminal, /api/models,
//   /proxy/{pause,resume,state}, /proxy/rollout/{rollout}/attempt/{attempt}/mode/{mode}/openai/v1/...
#pragma once
#include <optional>
#include <string_view>

#include "gateway/routes.h"

namespace corisco::gateway::lightning {
// Null unless the path is one of the API's; those of the model are not.
std::optional<Route> find_route(std::string_view path);
// Takes what stands before /v1 off a model's path; the rest begins with it.
std::optional<LightningPath> take_proxy(std::string_view& path);
// Letters, digits, '.', '_' and '-', so that it is a part of a path as it stands; at most 128 bytes.
bool is_rollout_name(std::string_view name);
}  // namespace corisco::gateway::lightning
