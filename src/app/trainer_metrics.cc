#include "app/trainer_metrics.h"

namespace corisco::app {
void record_metrics(const UpdateReport& report, metrics::Registry& metrics) {
  metrics.counter("corisco_trainer_updates_total").add();
  if (report.was_skipped) metrics.counter("corisco_trainer_skipped_updates_total").add();
  metrics.counter("corisco_trainer_trained_tokens_total").add(static_cast<double>(report.num_trained_tokens));
  metrics.counter("corisco_trainer_forwarded_tokens_total").add(static_cast<double>(report.num_forwarded_tokens));
  metrics.counter("corisco_trainer_unreplayed_rows_total").add(report.num_unreplayed_rows);
  metrics.counter("corisco_trainer_constant_groups_total").add(report.num_constant_groups);
  metrics.gauge("corisco_trainer_loss").set(report.loss);
  metrics.gauge("corisco_trainer_reward_mean").set(report.reward_mean);
  metrics.gauge("corisco_trainer_reward_std").set(report.reward_std);
  metrics.gauge("corisco_trainer_grad_norm").set(report.grad_norm);
  metrics.gauge("corisco_trainer_learning_rate").set(report.learning_rate);
  metrics.gauge("corisco_trainer_clipped_fraction").set(report.clipped_fraction);
  metrics.gauge("corisco_trainer_kl_sampled").set(report.kl_sampled);
  metrics.gauge("corisco_trainer_kl_reference").set(report.kl_reference);
  metrics.gauge("corisco_trainer_mismatch_mean").set(report.mismatch_mean);
  metrics.gauge("corisco_trainer_mismatch_max").set(report.mismatch_max);
  constexpr const char* kAges[kDriftAges] = {"1", "2", "3", "older"};
  for (std::size_t i = 0; i < kDriftAges; ++i)
    metrics.gauge("corisco_trainer_drift_mean", {kAges[i]}).set(report.drift_means[i]);
  metrics.gauge("corisco_trainer_rerouted_share").set(report.rerouted_share);
  metrics.gauge("corisco_trainer_policy_age_mean").set(report.policy_age_mean);
  metrics.gauge("corisco_samples_undelivered_share").set(report.undelivered_share);
  metrics.gauge("corisco_trainer_policy_age_max").set(report.policy_age_max);
}
}  // namespace corisco::app
