#include "gateway/router.h"

#include <algorithm>

#include "corisco/base/json.h"
#include "gateway/chat_call.h"
#include "gateway/json_fields.h"
#include "gateway/rollout_routes.h"
#include "gateway/token_count.h"
#include "gateway/wire_format.h"

namespace corisco::gateway {
namespace asio = boost::asio;
namespace {
constexpr std::uint64_t kSmallBodyMax = 1U << 20;       // of routes that take no conversation
constexpr std::uint64_t kDiscardedBodyMax = 64U << 10;  // of a refused request; a larger one closes

Reply text_reply(std::string body, std::string content_type = "text/plain; charset=utf-8") {
  Reply reply;
  reply.content_type = std::move(content_type);
  reply.body = std::move(body);
  return reply;
}

Reply with_allow(Reply reply, const char* methods) {
  reply.headers.emplace_back("Allow", methods);
  return reply;
}

ApiError wrong_method(const Head& head, RouteKind kind) {
  const bool is_known = head.method == "GET" || head.method == "HEAD" || head.method == "POST" ||
                        head.method == "PUT" || head.method == "PATCH" || head.method == "DELETE" ||
                        head.method == "OPTIONS";
  auto error = invalid_request(cat("this path takes ", allowed_methods(kind)), {}, "method_not_allowed");
  error.status = is_known ? 405 : 501;
  return error;
}

ApiError no_such_route() {
  auto error = invalid_request(
      "nothing is served at this path; the model is at /v1/chat/completions, /v1/messages and /v1/models", {},
      "unknown_url");
  error.status = 404;
  return error;
}

ApiError unsupported_route() {
  auto error = invalid_request("this API is not served; use /v1/chat/completions or /v1/messages", {},
                               "unsupported_api");
  error.status = 404;
  error.is_final = true;
  return error;
}

Json model_entry(const std::string& id) {
  return {{"id", id}, {"object", "model"}, {"created", 0}, {"owned_by", "corisco"}};
}

// As the client reached us, so that a URL built from it works for the client.
std::string url_from(const Head& head) {
  const auto* host = head.field("host");
  return host == nullptr ? std::string() : cat("http://", *host);
}
}  // namespace

Plan Router::plan(const Head& head, bool is_loopback) const {
  Plan plan;
  plan.body_bytes_max = kDiscardedBodyMax;
  if (head.target == "*") {
    plan.refusal = with_allow(text_reply(""), "GET, HEAD, POST, OPTIONS");
    return plan;
  }
  plan.route = find_route(head.target);
  const auto kind = plan.route.kind;
  const auto shape = error_shape_of(kind);
  if (!allows_method(kind, head.method)) {
    plan.refusal = with_allow(error_reply(wrong_method(head, kind), shape), allowed_methods(kind));
    return plan;
  }
  const auto& options = parts_.config->gateway;
  const auto key = presented_key(head);
  OrApiError<Caller> caller = Caller{};
  if (kind == RouteKind::unknown) caller = no_such_route();
  if (is_model_route(kind) || kind == RouteKind::events)
    caller = identify(plan.route, key, *parts_.attempts, options);
  if (is_admin_route(kind)) caller = identify_admin(key, is_loopback, *parts_.attempts, options);
  if (const auto* error = std::get_if<ApiError>(&caller)) {
    plan.refusal = error_reply(*error, shape);
    context_.metrics.refused(error->code);
    return plan;
  }
  plan.caller = std::move(std::get<Caller>(caller));
  plan.body_bytes_max =
      takes_conversation(kind) ? options.body_bytes_max : std::min(options.body_bytes_max, kSmallBodyMax);
  return plan;
}

asio::awaitable<void> Router::answer(Plan plan, const Head& head, std::string body, ReplyWriter& reply) {
  const RequestInFlight in_flight(context_.metrics);
  if (plan.refusal) {
    co_await reply.whole(std::move(*plan.refusal));
  } else if (const auto* format = wire_format_of(plan.route.kind)) {
    ChatCall call(context_, *format, plan.caller, reply);
    co_await call.run(std::move(body));
  } else if (plan.route.kind == RouteKind::count_tokens) {
    co_await count_tokens(context_, plan.caller, std::move(body), reply);
  } else {
    auto answer = quick_answer(plan, head, body);
    auto* error = std::get_if<ApiError>(&answer);
    if (error != nullptr) context_.metrics.refused(error->code);
    Reply quick = error != nullptr ? error_reply(*error) : std::move(std::get<Reply>(answer));
    co_await reply.whole(std::move(quick));
  }
  context_.metrics.answered(plan.route.kind, reply.status());
}

OrApiError<Reply> Router::quick_answer(const Plan& plan, const Head& head, const std::string& body) const {
  switch (plan.route.kind) {
    case RouteKind::front_page: return front_page();
    case RouteKind::metrics:
      return text_reply(parts_.metrics->to_prometheus(), "text/plain; version=0.0.4; charset=utf-8");
    case RouteKind::healthz: return text_reply("ok\n");
    case RouteKind::readyz: {
      const bool is_ready = parts_.is_ready && parts_.is_ready();
      auto reply = text_reply(is_ready ? "ready\n" : "not ready: the engine makes no progress\n");
      if (!is_ready) reply.status = 503;
      return reply;
    }
    case RouteKind::models: return models();
    case RouteKind::model: return text_reply(json_text(model_entry(plan.route.model_id)), "application/json");
    case RouteKind::unsupported_model_route: return unsupported_route();
    case RouteKind::events: return post_event(*parts_.rollouts, *plan.route.attempt, body);
    default: return admin_answer(plan, head, body);
  }
}

OrApiError<Reply> Router::admin_answer(const Plan& plan, const Head& head, const std::string& body) const {
  const auto kind = plan.route.kind;
  if (kind == RouteKind::admin_open_rollout) return open_rollout(*parts_.rollouts, body, url_from(head));
  if (kind == RouteKind::admin_finish_attempt) return finish_attempt(*parts_.rollouts, *plan.route.attempt);
  if (kind != RouteKind::admin_state && parts_.set_paused) parts_.set_paused(kind == RouteKind::admin_pause);
  return text_reply(parts_.state_json ? parts_.state_json() : "{}", "application/json");
}

Reply Router::models() const {
  const Json list = {{"object", "list"}, {"data", Json::array({model_entry(parts_.model_name)})}};
  return text_reply(json_text(list), "application/json");
}

Reply Router::front_page() const {
  constexpr const char* kPaths =
      "/v1/chat/completions  the model (OpenAI's API)\n"
      "/v1/messages          the model (Anthropic's API), and /v1/messages/count_tokens\n"
      "/v1/models\n"
      "/metrics              Prometheus\n"
      "/healthz /readyz      probes\n"
      "/admin/state          what the daemon does now\n";
  return text_reply(cat("Corisco serves ", parts_.model_name, ".\n\n", kPaths));
}
}  // namespace corisco::gateway
