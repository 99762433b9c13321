#include "gateway/agent_lightning/api.h"

#include <utility>

#include "corisco/base/json.h"
#include "gateway/agent_lightning/paths.h"
#include "gateway/attempt_state.h"

namespace corisco::gateway::lightning {
namespace asio = boost::asio;
namespace {
std::optional<ApiError> mode_error(const Route& route, const Caller& caller) {
  if (!is_model_route(route.kind) || !caller.attempt) return std::nullopt;
  const char* mode = to_string(caller.attempt->opening.mode);
  if (route.lightning->mode == mode) return std::nullopt;
  return invalid_request(cat("this rollout's mode is ", mode, ", the path says ", route.lightning->mode), {},
                         "mode_mismatch");
}
}  // namespace

Reply json_reply(int status, const Json& body) {
  Reply reply;
  reply.status = status;
  reply.body = json_text(body);
  return reply;
}

ApiError not_found(const std::string& message) {
  auto error = invalid_request(message, {}, "not_found");
  error.status = 404;
  return error;
}

ApiError unprocessable(const std::string& field, const std::string& message) {
  auto error = invalid_request(message, field, "value_error");
  error.status = 422;
  return error;
}

ApiError not_served(const std::string& message) {
  auto error = invalid_request(message, {}, "not_served");
  error.status = 501;
  return error;
}

ApiError no_room() {
  return from_error({Code::overloaded, "too many rollouts are open or kept; delete some first"});
}

std::optional<RolloutStatus> Api::find(const std::string& name, const std::string& attempt) const {
  const auto named = records_.resolve(name, attempt);
  return named ? parts_.rollouts->look(*named) : std::nullopt;
}

Record* Api::record_for(AttemptKey attempt, std::size_t bytes) {
  const auto is_known = [this](AttemptKey one) { return parts_.rollouts->look(one).has_value(); };
  const bool has_room = records_.make_room(1, bytes, is_known) && records_.take_room(attempt, bytes);
  return has_room ? &records_.at(attempt) : nullptr;
}

std::optional<ApiError> Api::start(AttemptKey attempt) {
  auto* record = record_for(attempt, 0);
  if (record == nullptr) return no_room();
  const auto started = parts_.rollouts->start_waiting(attempt);
  if (!started.ok()) return from_error(started.error());
  record->is_started_here = true;
  return std::nullopt;
}

OrApiError<Caller> Api::identify(const Route& route, const std::string& key, bool is_loopback) {
  auto found = find_caller(route, key, is_loopback);
  const auto* caller = std::get_if<Caller>(&found);
  auto wrong_mode = caller != nullptr ? mode_error(route, *caller) : std::nullopt;
  return wrong_mode ? OrApiError<Caller>(std::move(*wrong_mode)) : found;
}

OrApiError<Caller> Api::find_caller(const Route& route, const std::string& key, bool is_loopback) {
  const bool is_of_rollout = is_model_route(route.kind) || route.kind == RouteKind::lightning_attempt_events;
  if (!is_of_rollout || !is_attempt_key(key)) {
    auto admin = identify_admin(key, is_loopback, *parts_.attempts, parts_.config->gateway);
    if (!is_model_route(route.kind) || std::holds_alternative<ApiError>(admin)) return admin;
    return call_attempt(*route.lightning);
  }
  Route of_attempt = route;
  of_attempt.attempt = records_.resolve(route.lightning->rollout, route.lightning->attempt);
  if (!of_attempt.attempt) return not_found("there is no such rollout");
  return gateway::identify(of_attempt, key, *parts_.attempts, parts_.config->gateway);
}

OrApiError<Caller> Api::call_attempt(const LightningPath& path) {
  const auto attempt = records_.resolve(path.rollout, path.attempt);
  if (!attempt) return not_found("there is no such rollout; its attempt is called 0");
  const auto status = parts_.rollouts->look(*attempt);
  if (status && status->state == RolloutState::queued) {
    if (auto error = start(*attempt)) return std::move(*error);
  }
  if (!status && parts_.attempts->by_path(*attempt))
    return authentication_error("the daemon runs this rollout's harness: only the rollout's own key opens it");
  return find_attempt(*attempt, *parts_.attempts);
}

asio::awaitable<Reply> Api::answer(Route route, Caller caller, std::string method, std::string target,
                                   RequestBody body, std::string server_url) {
  auto found = co_await find_answer(route, caller, method, target, std::move(body), server_url);
  if (auto* reply = std::get_if<Reply>(&found)) co_return std::move(*reply);
  const auto& error = std::get<ApiError>(found);
  context_.metrics.refused(error.code);
  co_return error_reply(error, ErrorShape::agent_lightning);
}

asio::awaitable<OrApiError<Reply>> Api::find_answer(const Route& route, const Caller& caller,
                                                    const std::string& method, const std::string& target,
                                                    RequestBody body, const std::string& server_url) {
  const auto& path = *route.lightning;
  if (route.kind != RouteKind::lightning_rollouts) {   // whose body is a list, which create parses
    auto parsed = co_await parse_if_long(context_.worker, std::move(body));
    body = std::move(parsed);
  }
  switch (route.kind) {
    case RouteKind::lightning_rollouts:
      if (method == "POST") co_return co_await create(std::move(body));
      co_return co_await list(target);
    case RouteKind::lightning_terminal_rollouts: co_return co_await list_terminal(target);
    case RouteKind::lightning_rollout:
      if (method == "PATCH") co_return co_await patch(path.rollout, std::move(body));
      if (method == "DELETE") co_return drop(path.rollout);
      co_return co_await show_one(path.rollout);
    case RouteKind::lightning_rollout_events: co_return co_await list_events(path.rollout, target, server_url);
    case RouteKind::lightning_attempt_events: co_return post_event(path, caller, body);
    case RouteKind::lightning_models: co_return models(method, server_url);
    default: co_return pause(route.kind, body);
  }
}
}  // namespace corisco::gateway::lightning
