// The registry over prometheus-cpp: one family per declaration, handles made on first use.
// Any thread: a mutex guards the map of handles; a handle itself is an atomic.
#include "corisco/metrics/registry.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <mutex>
#include <unordered_map>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"

namespace corisco::metrics {
namespace {
using Kind = Declaration::Kind;

struct CounterHandle final : Counter {
  explicit CounterHandle(prometheus::Counter& made) : native(made) {}
  void add(double amount) override {
    CORISCO_ASSERT(amount >= 0, cat("a counter only grows, got ", amount));
    native.Increment(amount);
  }
  double value() const override { return native.Value(); }
  prometheus::Counter& native;
};

struct GaugeHandle final : Gauge {
  explicit GaugeHandle(prometheus::Gauge& made) : native(made) {}
  void set(double value) override { native.Set(value); }
  prometheus::Gauge& native;
};

struct HistogramHandle final : Histogram {
  explicit HistogramHandle(prometheus::Histogram& made) : native(made) {}
  void observe(double value) override { native.Observe(value); }
  prometheus::Histogram& native;
};

// One declared name: its family (of the declared kind) and the handles by label values.
struct Series {
  const Declaration* declaration = nullptr;
  prometheus::Family<prometheus::Counter>* counters = nullptr;
  prometheus::Family<prometheus::Gauge>* gauges = nullptr;
  prometheus::Family<prometheus::Histogram>* histograms = nullptr;
  std::map<std::vector<std::string>, std::unique_ptr<CounterHandle>> counter_handles;
  std::map<std::vector<std::string>, std::unique_ptr<GaugeHandle>> gauge_handles;
  std::map<std::vector<std::string>, std::unique_ptr<HistogramHandle>> histogram_handles;
};

prometheus::Labels labels_of(const Declaration& declaration, const std::vector<std::string>& values) {
  prometheus::Labels labels;
  for (std::size_t i = 0; i < values.size(); ++i) labels[declaration.labels[i]] = values[i];
  return labels;
}
}  // namespace

struct Registry::State {
  prometheus::Registry native;
  std::mutex mutex;
  std::unordered_map<std::string_view, Series> series;  // by the declaration's name

  void declare(const Declaration& declaration) {
    Series made;
    made.declaration = &declaration;
    switch (declaration.kind) {
      case Kind::counter:
        made.counters =
            &prometheus::BuildCounter().Name(declaration.name).Help(declaration.help).Register(native);
        break;
      case Kind::gauge:
        made.gauges =
            &prometheus::BuildGauge().Name(declaration.name).Help(declaration.help).Register(native);
        break;
      case Kind::histogram:
        made.histograms =
            &prometheus::BuildHistogram().Name(declaration.name).Help(declaration.help).Register(native);
        break;
    }
    const bool is_new = series.emplace(declaration.name, std::move(made)).second;
    CORISCO_ASSERT(is_new, cat("metric ", declaration.name, " is declared twice"));
  }

  Series& find(std::string_view name, Kind kind, const std::vector<std::string>& values) {
    const auto found = series.find(name);
    CORISCO_ASSERT(found != series.end(), cat("metric ", name, " is not declared"));
    const Declaration& declaration = *found->second.declaration;
    CORISCO_ASSERT(declaration.kind == kind, cat("metric ", name, " is declared as another kind"));
    CORISCO_ASSERT(declaration.labels.size() == values.size(),
                   cat("metric ", name, " has ", declaration.labels.size(), " labels, got ", values.size()));
    return found->second;
  }
};

Registry::Registry() : state_(std::make_unique<State>()) {
  for (const auto& declaration : declarations()) state_->declare(declaration);
  // Those without labels are there from the start, with 0.
  for (const auto& declaration : declarations()) {
    if (!declaration.labels.empty()) continue;
    if (declaration.kind == Kind::counter) counter(declaration.name);
    if (declaration.kind == Kind::gauge) gauge(declaration.name);
    if (declaration.kind == Kind::histogram) histogram(declaration.name);
  }
}

Registry::~Registry() = default;

Counter& Registry::counter(std::string_view name, std::vector<std::string> label_values) {
  const std::lock_guard lock(state_->mutex);
  Series& series = state_->find(name, Kind::counter, label_values);
  auto& handle = series.counter_handles[label_values];
  if (!handle) {
    handle =
        std::make_unique<CounterHandle>(series.counters->Add(labels_of(*series.declaration, label_values)));
  }
  return *handle;
}

Gauge& Registry::gauge(std::string_view name, std::vector<std::string> label_values) {
  const std::lock_guard lock(state_->mutex);
  Series& series = state_->find(name, Kind::gauge, label_values);
  auto& handle = series.gauge_handles[label_values];
  if (!handle) {
    handle = std::make_unique<GaugeHandle>(series.gauges->Add(labels_of(*series.declaration, label_values)));
  }
  return *handle;
}

Histogram& Registry::histogram(std::string_view name, std::vector<std::string> label_values) {
  const std::lock_guard lock(state_->mutex);
  Series& series = state_->find(name, Kind::histogram, label_values);
  auto& handle = series.histogram_handles[label_values];
  if (!handle) {
    handle = std::make_unique<HistogramHandle>(
        series.histograms->Add(labels_of(*series.declaration, label_values), series.declaration->buckets));
  }
  return *handle;
}

std::string Registry::to_prometheus() const {
  return prometheus::TextSerializer().Serialize(state_->native.Collect());
}
}  // namespace corisco::metrics
