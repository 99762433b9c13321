// Counters, gauges and histograms, declared once in src/metrics/declarations.cc with kind, unit,
// help and labels, and shown at /metrics in Prometheus' text format.
// Any thread; handles stay valid as long as the registry.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace corisco::metrics {
class Counter {
 public:
  virtual void add(double amount = 1) = 0;
  virtual double value() const = 0;
  virtual ~Counter() = default;
};
class Gauge {
 public:
  virtual void set(double value) = 0;
  virtual ~Gauge() = default;
};
class Histogram {
 public:
  virtual void observe(double value) = 0;
  virtual ~Histogram() = default;
};

struct Declaration {
  enum class Kind { counter, gauge, histogram } kind;
  const char* name;                    // corisco_gateway_requests_total
  const char* help;
  std::vector<const char*> labels{};
  std::vector<double> buckets{};       // of a histogram
};
const std::vector<Declaration>& declarations();
std::string reference_page();          // docs/metrics.md

class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;
  // label_values in the order of the declaration. An undeclared name or another number of labels
  // is a bug and asserts.
  Counter& counter(std::string_view name, std::vector<std::string> label_values = {});
  Gauge& gauge(std::string_view name, std::vector<std::string> label_values = {});
  Histogram& histogram(std::string_view name, std::vector<std::string> label_values = {});
  std::string to_prometheus() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};
}  // namespace corisco::metrics
