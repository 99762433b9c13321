#include "gateway/router.h"

#include <algorithm>
#include <boost/asio/ip/host_name.hpp>

#include "gateway/attempt_limits.h"
#include "gateway/attempt_state.h"
#include "gateway/chat_call.h"
#include "gateway/checkpoint_route.h"
#include "gateway/json_fields.h"
#include "gateway/model_list.h"
#include "gateway/model_names.h"
#include "gateway/retry_identity.h"
#include "gateway/rollout_routes.h"
#include "gateway/subagent_marks.h"
#include "gateway/token_count.h"
#include "gateway/upstream_call.h"
#include "gateway/upstream_request.h"
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
                        head.method == "OPTIONS" || head.method == "TRACE";
  auto error = invalid_request(cat("this path takes ", allowed_methods(kind)), {}, "method_not_allowed");
  error.status = is_known ? 405 : 501;
  return error;
}

ApiError no_such_route() {
  auto error = invalid_request(
      "nothing is served at this path; the model is at /v1/chat/completions, /v1/responses, /v1/messages and "
      "/v1/models",
      {}, "unknown_url");
  error.status = 404;
  return error;
}

ApiError unsupported_route() {
  auto error = invalid_request("this API is not served; use /v1/chat/completions, /v1/responses or /v1/messages", {},
                               "unsupported_api");
  error.status = 404;
  error.is_final = true;
  return error;
}

// As the client reached us, so that a URL built from it works for the client.
std::string url_from(const Head& head, const config::Gateway& options) {
  const auto* host = head.field("host");
  if (host == nullptr) return {};
  return cat(options.tls_certificate.empty() ? "http://" : "https://", *host);
}

bool has_tls_url(const config::Gateway& options) {
  const auto& urls = options.upstream_urls;
  return std::any_of(urls.begin(), urls.end(), [](const auto& named) { return starts_with(named.second, "https:"); });
}

// A body stays text where another server replies to its model, and is JSON from here on where it is read here. One
// that cannot be read asks for no model, which its own route then says.
struct SortedBody {
  std::string upstream_model;            // empty: this daemon replies
  RequestBody body;
};
asio::awaitable<SortedBody> sort_body(TextWorker& worker, const config::Gateway& options, RequestBody body) {
  const auto size = body.num_bytes();
  auto work = [&options, size, body = std::move(body)]() mutable {
    auto parsed = body.json();
    const auto* object = std::get_if<Json>(parsed.get());
    auto model = object != nullptr ? JsonFields(*object).text("model") : std::string();
    if (role_of(options, model) == ModelRole::upstream) return SortedBody{std::move(model), std::move(body)};
    return SortedBody{std::string(), RequestBody(size, std::move(parsed))};
  };
  auto sorted = co_await worker.run(size, std::move(work));
  co_return sorted;
}

std::string machine_name() {
  boost::system::error_code error;
  const auto name = asio::ip::host_name(error);
  return error ? std::string() : name;
}
}  // namespace

Router::Router(CallContext& context)
    : context_(context), parts_(context.parts), browsers_(parts_.config->gateway, machine_name()), lightning_(context),
      upstream_(std::make_shared<UpstreamPool>(parts_.io->get_executor(), has_tls_url(parts_.config->gateway))) {}

Plan Router::plan(const Head& head, bool is_loopback) {
  Plan plan;
  plan.body_bytes_max = kDiscardedBodyMax;
  plan.headers = browsers_.reply_headers(head);
  plan.route = find_route(head.target);
  // Who posts to the front page has a base URL without its path: the 404 tells where the model is.
  if (plan.route.kind == RouteKind::front_page && !allows_method(RouteKind::front_page, head.method))
    plan.route.kind = RouteKind::unknown;
  const auto kind = plan.route.kind;
  const auto shape = reply_shape_of(kind, head);
  plan.refusal = answer_to_browser(head, kind);
  if (!plan.refusal && head.target == "*") plan.refusal = with_allow(text_reply(""), "GET, HEAD, POST, OPTIONS");
  if (plan.refusal) return plan;
  if (!allows_method(kind, head.method)) {
    plan.refusal = with_allow(error_reply(wrong_method(head, kind), shape), allowed_methods(kind));
    return plan;
  }
  const auto& options = parts_.config->gateway;
  const auto key = presented_key(head);
  OrApiError<Caller> caller = Caller{};
  if (kind == RouteKind::unknown)
    caller = no_such_route();
  else if (plan.route.lightning)
    caller = lightning_.identify(plan.route, key, is_loopback);
  else if (is_model_route(kind) || kind == RouteKind::events)
    caller = identify(plan.route, key, *parts_.attempts, options);
  else if (kind == RouteKind::metrics)
    caller = identify_observer(key, options);
  const bool is_looked_at = kind == RouteKind::admin_state && is_observer(key, options);
  if (is_admin_route(kind) && !is_looked_at) caller = identify_admin(key, is_loopback, *parts_.attempts, options);
  if (const auto* error = std::get_if<ApiError>(&caller)) {
    plan.refusal = error_reply(*error, shape);
    context_.metrics.refused(error->code);
    return plan;
  }
  plan.caller = std::move(std::get<Caller>(caller));
  const bool is_long = takes_conversation(kind) || kind == RouteKind::lightning_rollouts;
  plan.body_bytes_max = is_long ? options.body_bytes_max : std::min(options.body_bytes_max, kSmallBodyMax);
  return plan;
}

Plan Router::plan_when_full(const Head& head, bool is_loopback) {
  auto planned = plan(head, is_loopback);
  const auto kind = planned.route.kind;
  if (planned.refusal || is_answered_when_full(kind)) return planned;
  const auto error = from_error(
      {Code::overloaded, cat(parts_.config->gateway.connections_max,
                             " connections are open already (gateway.connections_max): try later")});
  context_.metrics.refused(error.code);
  // As by a full queue: what the attempt's harness makes of it is not the policy's doing.
  if (planned.caller.attempt && takes_conversation(kind)) planned.caller.attempt->summary.saw_engine_error = true;
  planned.refusal = error_reply(error, reply_shape_of(kind, head));
  return planned;
}

// What a browser gets in the route's place, if anything.
std::optional<Reply> Router::answer_to_browser(const Head& head, RouteKind kind) const {
  if (const auto error = browsers_.refusal(head)) {
    context_.metrics.refused(error->code);
    return error_reply(*error, reply_shape_of(kind, head));
  }
  return browsers_.preflight(head, allowed_methods(kind));
}

asio::awaitable<void> Router::answer(Plan plan, const Head& head, std::string body, ReplyWriter& reply) {
  const RequestInFlight in_flight(context_.metrics);
  if (plan.refusal) {
    co_await reply.whole(std::move(*plan.refusal));
  } else if (takes_conversation(plan.route.kind)) {
    co_await answer_model(plan, head, std::move(body), reply);
  } else if (is_lightning_route(plan.route.kind)) {
    auto url = url_from(head, parts_.config->gateway);
    RequestBody given(std::move(body));
    auto answer = co_await lightning_.answer(plan.route, plan.caller, head.method, head.target, std::move(given),
                                             std::move(url));
    co_await reply.whole(std::move(answer));
  } else {
    RequestBody given(std::move(body));
    auto answer = co_await short_answer(plan, head, std::move(given), reply.peer());
    auto* error = std::get_if<ApiError>(&answer);
    if (error != nullptr) context_.metrics.refused(error->code);
    const auto shape = reply_shape_of(plan.route.kind, head);
    Reply quick = error != nullptr ? error_reply(*error, shape) : std::move(std::get<Reply>(answer));
    co_await reply.whole(std::move(quick));
  }
  context_.metrics.answered(plan.route.kind, reply.status());
}

// A rollout without calls left gets the last turn that ChatCall makes, whichever model it asks for; counting tokens
// is no call.
bool Router::may_be_passed_on(const Plan& plan) const {
  const auto& options = parts_.config->gateway;
  if (options.upstream_urls.empty() || upstream_path(plan.route.kind) == nullptr) return false;
  return plan.route.kind == RouteKind::count_tokens || !is_at_call_cap(plan.caller.attempt.get(), options);
}

asio::awaitable<void> Router::answer_model(Plan plan, const Head& head, std::string text, ReplyWriter& reply) {
  const auto kind = plan.route.kind;
  RequestBody body(std::move(text));
  if (may_be_passed_on(plan)) {
    auto sorted = co_await sort_body(context_.worker, parts_.config->gateway, std::move(body));
    // Again, since the last call may have gone while the body was parsed.
    if (!sorted.upstream_model.empty() && may_be_passed_on(plan)) {
      UpstreamCall call(context_, *upstream_, {head, kind, sorted.upstream_model, sorted.body.text()}, plan.caller,
                        reply);
      co_await call.run();
      co_return;
    }
    body = std::move(sorted.body);
  }
  if (const auto* format = wire_format_of(kind)) {
    ChatCall call(context_, *format, plan.caller, reply, {retry_marks_of(head), is_from_subagent(head)});
    co_await call.run(std::move(body));
  } else {
    co_await count_tokens(context_, plan.caller, std::move(body), reply);
  }
}

asio::awaitable<OrApiError<Reply>> Router::short_answer(const Plan& plan, const Head& head, RequestBody body,
                                                        Peer& peer) const {
  if (plan.route.kind == RouteKind::admin_open_rollout) {
    auto url = url_from(head, parts_.config->gateway);
    co_return co_await open_rollout(context_.worker, *parts_.rollouts, std::move(body), std::move(url));
  }
  if (plan.route.kind == RouteKind::admin_finish_attempt)
    co_return co_await finish_attempt(*parts_.rollouts, *parts_.calls, *plan.route.attempt);
  if (plan.route.kind == RouteKind::admin_checkpoint) co_return co_await write_checkpoint(parts_, peer);
  const auto given = co_await parse_if_long(context_.worker, std::move(body));
  co_return quick_answer(plan, head, given);
}

OrApiError<Reply> Router::quick_answer(const Plan& plan, const Head& head, const RequestBody& body) const {
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
    case RouteKind::models: return models(reply_shape_of(RouteKind::models, head));
    case RouteKind::model: {
      if (auto unknown = unknown_model(parts_.config->gateway, plan.route.model_id)) return std::move(*unknown);
      const auto shape = reply_shape_of(RouteKind::model, head);
      return text_reply(model_json(plan.route.model_id, shape), "application/json");
    }
    case RouteKind::unsupported_model_route: return unsupported_route();
    case RouteKind::events: return post_event(*parts_.rollouts, *plan.route.attempt, body);
    default: return admin_answer(plan);
  }
}

OrApiError<Reply> Router::admin_answer(const Plan& plan) const {
  const auto kind = plan.route.kind;
  if (kind != RouteKind::admin_state && parts_.set_paused) parts_.set_paused(kind == RouteKind::admin_pause);
  return text_reply(parts_.state_json ? parts_.state_json() : "{}", "application/json");
}

Reply Router::models(ErrorShape shape) const {
  const auto names = served_names(parts_.config->gateway, parts_.model_name);
  return text_reply(model_list_json(names, shape), "application/json");
}

Reply Router::front_page() const {
  constexpr const char* kPaths =
      "/v1/chat/completions  the model (OpenAI's API)\n"
      "/v1/responses         the model (OpenAI's newer API)\n"
      "/v1/completions       the model without its chat template\n"
      "/v1/messages          the model (Anthropic's API), and /v1/messages/count_tokens\n"
      "/v1/models\n"
      "/inference/v1/generate  token ids in and out (vLLM's API), and /generate (SGLang's)\n"
      "/metrics              Prometheus\n"
      "/healthz /readyz      probes\n"
      "/admin/state          what the daemon does now\n";
  return text_reply(cat("Corisco serves ", parts_.model_name, ".\n\n", kPaths));
}
}  // namespace corisco::gateway
