#include "gateway/gateway_metrics.h"

#include <string>

#include "corisco/base/strings.h"

namespace corisco::gateway {
GatewayMetrics::GatewayMetrics(metrics::Registry& registry)
    : in_flight(registry.gauge("corisco_gateway_requests_in_flight")),
      held(registry.gauge("corisco_gateway_held_requests")),
      connections(registry.gauge("corisco_gateway_connections")),
      request_seconds(registry.histogram("corisco_gateway_request_seconds")),
      held_seconds(registry.histogram("corisco_gateway_held_seconds")),
      undelivered(registry.counter("corisco_gateway_undelivered_calls_total")),
      rate_held(registry.counter("corisco_gateway_rate_held_calls_total")),
      final_turns(registry.counter("corisco_gateway_final_turns_total")),
      side_calls(registry.counter("corisco_gateway_side_calls_total")),
      parse_errors(registry.counter("corisco_gateway_parse_errors_total")),
      tools_left_out(registry.counter("corisco_gateway_tools_left_out_total")), registry_(registry) {}

void GatewayMetrics::answered(RouteKind route, int status) {
  registry_.counter("corisco_gateway_requests_total", {to_string(route), cat(status)}).add();
}
void GatewayMetrics::refused(const std::string& reason) {
  registry_.counter("corisco_gateway_rejected_requests_total", {reason}).add();
}
void GatewayMetrics::overridden(const std::string& parameter) {
  registry_.counter("corisco_gateway_overridden_parameters_total", {parameter}).add();
}
void GatewayMetrics::continued(bool is_continued) {
  const char* result = is_continued ? "continued" : "full_render";
  registry_.counter("corisco_gateway_continued_calls_total", {result}).add();
}
void GatewayMetrics::split(SplitCause cause) {
  registry_.counter("corisco_gateway_split_calls_total", {to_string(cause)}).add();
}
void GatewayMetrics::differs(Difference difference) {
  registry_.counter("corisco_gateway_reply_differences_total", {to_string(difference)}).add();
}
void GatewayMetrics::passed_on(const std::string& model, const std::string& result) {
  registry_.counter("corisco_gateway_upstream_calls_total", {model, result}).add();
}
void GatewayMetrics::retried(const char* result) {
  registry_.counter("corisco_gateway_retries_total", {result}).add();
}
void GatewayMetrics::constrained(const char* constraint) {
  registry_.counter("corisco_gateway_constrained_calls_total", {constraint}).add();
}
}  // namespace corisco::gateway
