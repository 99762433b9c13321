#include "app/train_batch.h"

#include <algorithm>

#include "corisco/samples/merge.h"

namespace corisco::app {
namespace {
void count(const samples::MergeReport& report, metrics::Registry& metrics) {
  metrics.counter("corisco_samples_rows_total").add(report.num_rows);
  metrics.counter("corisco_samples_tokens_untrained_total", {"undelivered"}).add(report.num_undelivered_tokens);
  metrics.counter("corisco_samples_tokens_untrained_total", {"untrainable"}).add(report.num_untrainable_tokens);
  metrics.counter("corisco_samples_tokens_untrained_total", {"infrastructure"}).add(report.num_invalid_tokens);
  for (const auto cause : report.splits)
    metrics.counter("corisco_samples_splits_total", {samples::to_string(cause)}).add();
}

TrainRollout to_train_rollout(const FinishedRollout& finished, MergeLevel level, metrics::Registry& metrics) {
  TrainRollout rollout;
  rollout.id = finished.spec.id;
  rollout.sibling = finished.spec.sibling;
  rollout.is_valid = is_trained(finished.outcome) && finished.reward.has_value();
  samples::MergeReport report;
  auto rows = samples::merge(finished, level, report);
  count(report, metrics);
  if (!rollout.is_valid) return rollout;
  rollout.reward = *finished.reward;
  rollout.rows = std::move(rows);
  return rollout;
}
}  // namespace

TrainBatch make_train_batch(const std::vector<std::unique_ptr<Group>>& groups, MergeLevel level,
                            metrics::Registry& metrics) {
  TrainBatch batch;
  for (const auto& group : groups) {
    auto& out = batch.groups.emplace_back();
    out.id = group->id;
    out.task_occurrence = group->task_occurrence;
    for (const auto& finished : group->rollouts)
      out.rollouts.push_back(to_train_rollout(finished, level, metrics));
  }
  std::sort(batch.groups.begin(), batch.groups.end(),
            [](const TrainGroup& a, const TrainGroup& b) { return a.task_occurrence < b.task_occurrence; });
  return batch;
}
}  // namespace corisco::app
