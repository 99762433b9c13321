#include "app/train_batch.h"

#include <algorithm>

#include "corisco/base/log.h"
#include "corisco/base/strings.h"

namespace corisco::app {
namespace {
using samples::MergeReport;
using samples::UntrainedReason;

void count(const MergeReport& report, metrics::Registry& metrics) {
  metrics.counter("corisco_samples_rows_total").add(report.num_rows);
  metrics.counter("corisco_samples_tokens_trained_total").add(static_cast<double>(report.num_trained_tokens));
  for (std::size_t i = 1; i < report.num_untrained_tokens.size(); ++i)   // 0 is none
    metrics.counter("corisco_samples_tokens_untrained_total", {samples::to_string(static_cast<UntrainedReason>(i))})
        .add(static_cast<double>(report.num_untrained_tokens[i]));
  for (const auto& [cause, num_rows] : report.splits)
    metrics.counter("corisco_samples_splits_total", {to_string(cause)}).add(num_rows);
  const auto rollouts = [&](const char* rows) -> metrics::Counter& {
    return metrics.counter("corisco_samples_rollouts_total", {rows});
  };
  rollouts("none").add(report.num_rollouts_no_row);
  rollouts("one").add(report.num_rollouts_one_row);
  rollouts("several").add(report.num_rollouts - report.num_rollouts_no_row - report.num_rollouts_one_row);
}

void warn_of_lost_replies(const MergeReport& report, double share_max) {
  if (report.undelivered_share() <= share_max) return;
  const auto of = [&](UntrainedReason reason) {
    return cat(samples::to_string(reason), " ", report.untrained(reason));
  };
  log::warn(cat(fixed(100 * report.undelivered_share(), 1), " % of this update's ", report.num_sampled_tokens,
                " sampled tokens never reached their client whole and are not trained (",
                of(UntrainedReason::undelivered), ", ", of(UntrainedReason::superseded), ", ",
                of(UntrainedReason::aborted), "; samples.undelivered_share_alarm is ", share_max,
                "). Their work is lost, and long replies are lost first, so what is learned leans to short ones. "
                "Look at the request timeout and retries of the harness (a reply can take as long as an update "
                "holds it), at proxies that cut quiet connections, and at the rollouts' time limit"));
}

TrainRollout to_train_rollout(const FinishedRollout& finished, const config::Samples& options, MergeReport& report) {
  auto merged = samples::merge(finished, merge_level(options), merge_limits(options));
  report.add(merged.accounts);
  TrainRollout rollout;
  rollout.id = finished.spec.id;
  rollout.sibling = finished.spec.sibling;
  rollout.is_valid = samples::is_trained(finished);
  if (!rollout.is_valid) return rollout;
  rollout.reward = *finished.reward;
  rollout.rows = std::move(merged.rows);
  return rollout;
}
}  // namespace

MergeLevel merge_level(const config::Samples& options) {
  return options.merge == "transition" ? MergeLevel::transition : MergeLevel::trajectory;
}

samples::MergeLimits merge_limits(const config::Samples& options) {
  return {.prompt_tokens_max = options.prompt_tokens_max,
          .reply_tokens_max = options.reply_tokens_max,
          .row_tokens_max = options.row_tokens_max};
}

TrainBatch make_train_batch(const std::vector<std::unique_ptr<Group>>& groups, const config::Samples& options,
                            metrics::Registry& metrics) {
  TrainBatch batch;
  MergeReport report;
  for (const auto& group : groups) {
    auto& out = batch.groups.emplace_back();
    out.id = group->id;
    out.task_occurrence = group->task_occurrence;
    for (const auto& finished : group->rollouts) out.rollouts.push_back(to_train_rollout(finished, options, report));
  }
  std::sort(batch.groups.begin(), batch.groups.end(),
            [](const TrainGroup& a, const TrainGroup& b) { return a.task_occurrence < b.task_occurrence; });
  batch.undelivered_share = report.undelivered_share();
  count(report, metrics);
  warn_of_lost_replies(report, options.undelivered_share_alarm);
  return batch;
}
}  // namespace corisco::app
