// The module's series, looked up once. Any thread.
#pragma once
#include "corisco/metrics/registry.h"
#include "gateway/routes.h"

namespace corisco::gateway {
class GatewayMetrics {
 public:
  explicit GatewayMetrics(metrics::Registry& registry);

  void answered(RouteKind route, int status);
  void refused(const std::string& reason);           // an error's code
  void overridden(const std::string& parameter);
  void continued(bool is_continued);

  metrics::Gauge& in_flight;
  metrics::Gauge& held;
  metrics::Gauge& connections;
  metrics::Histogram& request_seconds;
  metrics::Histogram& held_seconds;
  metrics::Counter& undelivered;

 private:
  metrics::Registry& registry_;
};
}  // namespace corisco::gateway
