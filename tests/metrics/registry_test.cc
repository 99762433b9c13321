#include "corisco/metrics/registry.h"

#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <thread>

#include "corisco/base/strings.h"
#include "support/page.h"

namespace corisco::metrics {
namespace {
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The rules of Prometheus for names, and ours: base units, counters and only they end in _total.
TEST(Declarations, HaveGoodNamesAndHelp) {
  const std::regex name(
      "corisco_(gateway|engine|samples|rollouts|trainer|coordinator|evaluation)_[a-z]+(_[a-z]+)*");
  std::set<std::string> seen;
  for (const auto& declaration : declarations()) {
    EXPECT_TRUE(std::regex_match(declaration.name, name)) << declaration.name;
    EXPECT_TRUE(seen.insert(declaration.name).second) << declaration.name;
    EXPECT_EQ(ends_with(declaration.name, "_total"), declaration.kind == Declaration::Kind::counter)
        << declaration.name;
    EXPECT_TRUE(ends_with(declaration.help, ".")) << declaration.name;
    EXPECT_EQ(declaration.buckets.empty(), declaration.kind != Declaration::Kind::histogram)
        << declaration.name;
    EXPECT_TRUE(std::is_sorted(declaration.buckets.begin(), declaration.buckets.end())) << declaration.name;
  }
}

TEST(Registry, ShowsSeriesWithoutLabelsFromTheStart) {
  const std::string text = Registry().to_prometheus();
  EXPECT_TRUE(has(text,
                  "# HELP corisco_engine_steps_total Forward passes.\n"
                  "# TYPE corisco_engine_steps_total counter\n"
                  "corisco_engine_steps_total 0\n"));
  EXPECT_TRUE(has(text, "# TYPE corisco_engine_kv_blocks gauge\ncorisco_engine_kv_blocks 0\n"));
  EXPECT_TRUE(has(text, "corisco_gateway_request_seconds_bucket{le=\"+Inf\"} 0\n"));
}

TEST(Registry, CountsSetsAndObserves) {
  Registry registry;
  registry.counter("corisco_rollouts_finished_total", {"train", "completed"}).add();
  registry.counter("corisco_rollouts_finished_total", {"train", "completed"}).add(2);
  registry.gauge("corisco_coordinator_phase", {"training"}).set(1);
  registry.gauge("corisco_trainer_loss").set(-0.25);
  auto& reward = registry.histogram("corisco_rollouts_reward", {"val"});
  for (const double value : {0.25, 0.5, 1.5}) reward.observe(value);
  EXPECT_EQ(registry.counter("corisco_rollouts_finished_total", {"train", "completed"}).value(), 3);

  const std::string text = registry.to_prometheus();
  EXPECT_TRUE(has(text, "corisco_rollouts_finished_total{mode=\"train\",outcome=\"completed\"} 3\n"));
  EXPECT_TRUE(has(text, "corisco_coordinator_phase{phase=\"training\"} 1\n"));
  EXPECT_TRUE(has(text, "corisco_trainer_loss -0.25\n"));
  // 0.25 and 0.5 are at most 0.5; 1.5 is above 1.
  EXPECT_TRUE(has(text, "corisco_rollouts_reward_bucket{mode=\"val\",le=\"0.5\"} 2\n"));
  EXPECT_TRUE(has(text, "corisco_rollouts_reward_bucket{mode=\"val\",le=\"1\"} 2\n"));
  EXPECT_TRUE(has(text, "corisco_rollouts_reward_count{mode=\"val\"} 3\n"));
  EXPECT_TRUE(has(text, "corisco_rollouts_reward_sum{mode=\"val\"} 2.25\n"));
}

TEST(Registry, EscapesLabelValues) {
  Registry registry;
  registry.counter("corisco_gateway_rejected_requests_total", {"a\"b\\c\nd"}).add();
  EXPECT_TRUE(has(registry.to_prometheus(),
                  "corisco_gateway_rejected_requests_total{reason=\"a\\\"b\\\\c\\nd\"} 1\n"));
}

TEST(Registry, TakesCountsFromManyThreads) {
  Registry registry;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&registry] {
      for (int i = 0; i < 1000; ++i) {
        registry.counter("corisco_samples_splits_total", {i % 2 == 0 ? "forked" : "prefix_changed"}).add();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(registry.counter("corisco_samples_splits_total", {"forked"}).value(), 2000);
}

TEST(RegistryDeathTest, WhatIsNotDeclaredIsABug) {
  Registry registry;
  EXPECT_DEATH(registry.counter("corisco_nothing_total"), "is not declared");
  EXPECT_DEATH(registry.gauge("corisco_engine_steps_total"), "another kind");
  EXPECT_DEATH(registry.counter("corisco_samples_splits_total"), "has 1 labels, got 0");
  EXPECT_DEATH(registry.counter("corisco_engine_steps_total").add(-1), "only grows");
}

TEST(ReferencePage, IsUpToDate) { support::expect_page("metrics.md", reference_page()); }
}  // namespace
}  // namespace corisco::metrics
