// One published update in the Prometheus registry.
#pragma once
#include "corisco/metrics/registry.h"
#include "corisco/types/sample.h"

namespace corisco::app {
void record_metrics(const UpdateReport& report, metrics::Registry& metrics);
}  // namespace corisco::app
