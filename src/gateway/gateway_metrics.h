// The module's series, looked up once. Any thread.
#pragma once
#include "corisco/metrics/registry.h"
#include "corisco/types/call.h"
#include "gateway/reply_meaning.h"
#include "gateway/routes.h"

namespace corisco::gateway {
class GatewayMetrics {
 public:
  explicit GatewayMetrics(metrics::Registry& registry);

  void answered(RouteKind route, int status);
  void refused(const std::string& reason);           // an error's code
  void overridden(const std::string& parameter);
  void continued(bool is_continued);
  void split(SplitCause cause);
  void differs(Difference difference);               // of a reply that came back
  void retried(const char* result);
  void constrained(const char* constraint);
  void passed_on(const std::string& model, const std::string& result);   // to another server

  metrics::Gauge& in_flight;           // set by RequestInFlight
  int num_in_flight = 0;
  metrics::Gauge& held;
  metrics::Gauge& connections;
  metrics::Histogram& request_seconds;
  metrics::Histogram& held_seconds;
  metrics::Counter& undelivered;
  metrics::Counter& rate_held;
  metrics::Counter& final_turns;
  metrics::Counter& side_calls;
  metrics::Counter& parse_errors;
  metrics::Counter& tools_left_out;

 private:
  metrics::Registry& registry_;
};

// Counts a request while it lives.
class RequestInFlight {
 public:
  explicit RequestInFlight(GatewayMetrics& metrics) : metrics_(metrics) {
    metrics_.in_flight.set(++metrics_.num_in_flight);
  }
  ~RequestInFlight() { metrics_.in_flight.set(--metrics_.num_in_flight); }
  RequestInFlight(const RequestInFlight&) = delete;
  RequestInFlight& operator=(const RequestInFlight&) = delete;

 private:
  GatewayMetrics& metrics_;
};
}  // namespace corisco::gateway
