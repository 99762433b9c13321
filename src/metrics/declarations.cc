// Every series of the daemon, declared once: kind, name, help, labels, buckets.
// The registry refuses any other name, and docs/metrics.md is generated from this list.
// Labels take values from small closed sets; never an id, a task or a user's text.
#include "corisco/metrics/registry.h"

namespace corisco::metrics {
namespace {
using Kind = Declaration::Kind;
using Table = std::vector<Declaration>;

// Seconds of one request: from a cached token to a whole update's wait at the gate.
const std::vector<double> kRequestSeconds{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
                                          2.5,   5,    10,    30,   60,  120,  300, 600};
const std::vector<double> kRolloutSeconds{0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600};
const std::vector<double> kRewards{-1, -0.5, -0.25, 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 2};
const std::vector<double> kSyncSeconds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5};

const Table kGateway{
    {Kind::counter, "corisco_gateway_requests_total", "HTTP requests answered.", {"route", "status"}},
    {Kind::gauge, "corisco_gateway_requests_in_flight", "HTTP requests received and not yet answered."},
    {Kind::gauge, "corisco_gateway_held_requests", "Requests that wait at the gate for an update to end."},
    {Kind::gauge, "corisco_gateway_connections", "Open connections."},
    {Kind::histogram,
     "corisco_gateway_request_seconds",
     "Time of a model request from its whole body to its last byte.",
     {},
     kRequestSeconds},
    {Kind::histogram,
     "corisco_gateway_held_seconds",
     "Time of a model request at the gate.",
     {},
     kRequestSeconds},
    {Kind::counter,
     "corisco_gateway_overridden_parameters_total",
     "Sampling values sent by a client that were not obeyed, since the run's apply.",
     {"parameter"}},
    {Kind::counter, "corisco_gateway_undelivered_calls_total",
     "Calls whose peer was gone before the last byte was written."},
    {Kind::counter,
     "corisco_gateway_continued_calls_total",
     "Calls of an attempt after its first, by whether they went on from an earlier call's exact tokens "
     "(continued) or were rendered anew (full_render).",
     {"result"}},
    {Kind::counter,
     "corisco_gateway_split_calls_total",
     "Calls of an attempt that did not go on from a branch's last call, by cause.",
     {"cause"}},
    {Kind::counter,
     "corisco_gateway_reply_differences_total",
     "Replies that came back in another form, by what differed; calls go on from them with the tokens that "
     "were sampled.",
     {"difference"}},
    {Kind::counter, "corisco_gateway_rate_held_calls_total", "Calls that waited for gateway.calls_per_minute_max."},
    {Kind::counter, "corisco_gateway_parse_errors_total",
     "Tool calls in replies that could not be read; their text is kept."},
    {Kind::counter, "corisco_gateway_tools_left_out_total",
     "Tools in requests that only the vendor's own servers run, such as web search; the model is not told of them."},
    {Kind::counter,
     "corisco_gateway_retries_total",
     "Requests that were sent again: answered with the reply that was sampled for them (repeated), or sampled "
     "anew, since there was none or the policy has changed (sampled_anew).",
     {"result"}},
    {Kind::counter,
     "corisco_gateway_constrained_calls_total",
     "Calls whose reply must obey a grammar, by what asked for it: its form, a forced_call, or strict_tools; "
     "unenforced_strict_tools were left to the model, since its way to write calls or a schema has no grammar.",
     {"constraint"}},
    {Kind::counter, "corisco_gateway_side_calls_total",
     "Calls beside a harness's task, such as titles; trained only with gateway.train_side_calls."},
    {Kind::counter, "corisco_gateway_final_turns_total",
     "Replies that the gateway made itself to end a harness whose rollout had no calls left; never trained."},
    {Kind::counter,
     "corisco_gateway_upstream_calls_total",
     "Requests of names in gateway.upstream_urls, by the status that came back or why none did.",
     {"model", "result"}},
    {Kind::counter, "corisco_gateway_rejected_requests_total", "Requests refused, by reason.", {"reason"}},
};

const Table kEngine{
    {Kind::gauge, "corisco_engine_sequences_running", "Sequences in the decoding batch."},
    {Kind::gauge, "corisco_engine_sequences_waiting", "Sequences in the engine's queue."},
    {Kind::counter, "corisco_engine_tokens_sampled_total", "Tokens drawn."},
    {Kind::counter, "corisco_engine_prompt_tokens_total", "Tokens of the prompts given to the engine."},
    {Kind::counter, "corisco_engine_prompt_tokens_reused_total",
     "Prompt tokens whose KV blocks were there already."},
    {Kind::counter, "corisco_engine_tokens_recomputed_total",
     "Tokens in whole KV blocks that an update made stale and that were needed again."},
    {Kind::counter, "corisco_engine_steps_total", "Forward passes."},
    {Kind::counter, "corisco_engine_preempted_total", "Sequences put back for lack of KV blocks."},
    {Kind::counter, "corisco_engine_nonfinite_total", "Sequences ended by logits that were not finite."},
    {Kind::gauge, "corisco_engine_kv_blocks_used", "KV blocks that hold tokens."},
    {Kind::gauge, "corisco_engine_kv_blocks", "KV blocks there are."},
};

const Table kSamples{
    {Kind::counter, "corisco_samples_calls_total", "Calls recorded."},
    {Kind::counter, "corisco_samples_rows_total", "Training rows made by merging."},
    {Kind::gauge, "corisco_samples_undelivered_share",
     "Of the last update's sampled tokens, those of replies that never reached their client whole "
     "(undelivered, superseded or aborted)."},
    {Kind::counter, "corisco_samples_rollouts_total",
     "Rollouts that were merged, by whether they made no row (none), one (the whole in a single row) or several.",
     {"rows"}},
    {Kind::counter, "corisco_samples_splits_total", "Calls that started a new row, by cause.", {"cause"}},
    {Kind::counter, "corisco_samples_tokens_trained_total", "Sampled tokens in training rows with a loss."},
    {Kind::counter,
     "corisco_samples_tokens_untrained_total",
     "Sampled tokens left without a loss, by reason.",
     {"reason"}},
    {Kind::counter, "corisco_samples_groups_total", "Groups opened and complete.", {"state"}},
    {Kind::counter, "corisco_samples_journal_bytes_total", "Bytes written to the journal."},
    {Kind::gauge, "corisco_samples_journal_waiting_bytes", "Bytes that wait for the journal's writer."},
    {Kind::histogram,
     "corisco_samples_journal_sync_seconds",
     "Time of one sync of the journal.",
     {},
     kSyncSeconds},
};

const Table kRollouts{
    {Kind::counter, "corisco_rollouts_finished_total", "Rollouts finished.", {"mode", "outcome"}},
    {Kind::gauge, "corisco_rollouts_running", "Harnesses that run."},
    {Kind::gauge, "corisco_rollouts_open", "Rollouts that are not finished."},
    {Kind::counter, "corisco_rollouts_attempts_total", "Attempts started."},
    {Kind::counter, "corisco_rollouts_retried_total",
     "Attempts that failed for infrastructure reasons and were tried again."},
    {Kind::histogram, "corisco_rollouts_reward", "Rewards of finished rollouts.", {"mode"}, kRewards},
    {Kind::histogram,
     "corisco_rollouts_seconds",
     "Running time of finished rollouts, without time at the gate.",
     {"mode"},
     kRolloutSeconds},
};

const Table kTrainer{
    {Kind::counter, "corisco_trainer_updates_total", "Updates published."},
    {Kind::counter, "corisco_trainer_skipped_updates_total",
     "Updates that left the weights as they were: nothing to learn from, or a gradient not finite."},
    {Kind::gauge, "corisco_trainer_loss", "Loss of the last update."},
    {Kind::gauge, "corisco_trainer_reward_mean", "Mean reward of the last update's valid rollouts."},
    {Kind::gauge, "corisco_trainer_reward_std", "Standard deviation of the last update's rewards."},
    {Kind::gauge, "corisco_trainer_grad_norm", "Norm of the last update's gradient before clipping."},
    {Kind::gauge, "corisco_trainer_learning_rate", "Learning rate of the last update."},
    {Kind::gauge, "corisco_trainer_clipped_fraction",
     "Share of the last update's trained tokens with a clipped ratio."},
    {Kind::gauge, "corisco_trainer_kl_sampled",
     "Mean of sampled log-probability minus the current one, in nats per token."},
    {Kind::gauge, "corisco_trainer_kl_reference",
     "Mean k3 divergence from the initial weights, in nats per token; 0 when off."},
    {Kind::gauge, "corisco_trainer_mismatch_mean",
     "Mean absolute difference between trainer's and engine's log-probability of tokens of age 0."},
    {Kind::gauge, "corisco_trainer_mismatch_max", "Largest such difference."},
    {Kind::gauge, "corisco_trainer_drift_mean",
     "The same mean over tokens of older weights, by their policy age in versions; 0 where the last update had none.",
     {"age"}},
    {Kind::gauge, "corisco_trainer_rerouted_share",
     "Share of the replayed experts that the trainer's own router would not have chosen before the last update."},
    {Kind::gauge, "corisco_trainer_policy_age_mean", "Mean policy age of trained tokens, in versions."},
    {Kind::gauge, "corisco_trainer_policy_age_max", "Largest policy age of trained tokens, in versions."},
    {Kind::counter, "corisco_trainer_trained_tokens_total", "Tokens with a loss in published updates."},
    {Kind::counter, "corisco_trainer_forwarded_tokens_total", "Tokens forwarded in published updates."},
    {Kind::counter, "corisco_trainer_unreplayed_rows_total",
     "Rows trained with trainer.replay_routing on whose experts nobody recorded: the router chose them anew."},
    {Kind::counter, "corisco_trainer_constant_groups_total",
     "Groups whose rewards were all equal, so that they gave no gradient."},
};

const Table kCoordinator{
    {Kind::gauge, "corisco_coordinator_phase", "1 for the phase in force, 0 for the others.", {"phase"}},
    {Kind::counter, "corisco_coordinator_phase_seconds_total", "Time spent in each phase.", {"phase"}},
    {Kind::gauge, "corisco_coordinator_policy_version", "Version of the weights that are served."},
};

const Table kEvaluation{
    {Kind::gauge, "corisco_evaluation_reward_mean", "Mean reward of the last evaluation on held-out tasks."},
    {Kind::counter, "corisco_evaluation_passes_total", "Evaluations finished."},
};

Table all_tables() {
  Table all;
  for (const Table* table :
       {&kGateway, &kEngine, &kSamples, &kRollouts, &kTrainer, &kCoordinator, &kEvaluation}) {
    all.insert(all.end(), table->begin(), table->end());
  }
  return all;
}
}  // namespace

const std::vector<Declaration>& declarations() {
  static const Table all = all_tables();
  return all;
}
}  // namespace corisco::metrics
