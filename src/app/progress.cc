#include "app/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "corisco/base/strings.h"

namespace corisco::app {
namespace {
constexpr double kAverageWeight = 0.3;  // of the newest update in the estimate of the time left
constexpr int kBarWidth = 30;

double total(const coordinator::PhaseSeconds& seconds) {
  return seconds.generating + seconds.draining + seconds.training + seconds.publishing;
}
}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(std::lround(seconds));
  if (whole < 60) return cat(whole, " s");
  const long rest = whole % 60;
  return cat(whole / 60, " min ", rest < 10 ? "0" : "", rest, " s");
}

std::string to_text(const UpdateLine& line) {
  const auto& report = line.report;
  return cat("update ", line.update, "/", line.updates, "  version ", report.policy_version, "  reward ",
             fixed(report.reward_mean, 3), "  groups ", report.num_groups, " (", report.num_constant_groups,
             " constant)  ", fixed(line.tokens_per_second, 0), " tokens/s  generating ",
             fixed(line.seconds.generating, 1), " s  draining ", fixed(line.seconds.draining, 1), " s  training ",
             fixed(line.seconds.training + line.seconds.publishing, 1), " s  left ",
             duration_text(line.seconds_left), report.was_skipped ? "  (skipped: nothing to learn from)" : "");
}

metrics::Fields to_fields(const UpdateLine& line) {
  const auto& r = line.report;
  const auto whole = [](auto value) { return metrics::Value(static_cast<std::int64_t>(value)); };
  return {{"update", whole(line.update)},
          {"policy_version", whole(r.policy_version.value)},
          {"reward_mean", r.reward_mean},
          {"reward_std", r.reward_std},
          {"groups", whole(r.num_groups)},
          {"constant_groups", whole(r.num_constant_groups)},
          {"rollouts", whole(r.num_rollouts)},
          {"rows", whole(r.num_rows)},
          {"rows_per_rollout", r.num_rollouts > 0 ? static_cast<double>(r.num_rows) / r.num_rollouts : 0.0},
          {"micro_batches", whole(r.num_micro_batches)},
          {"trained_tokens", whole(r.num_trained_tokens)},
          {"forwarded_tokens", whole(r.num_forwarded_tokens)},
          {"tokens_per_second", line.tokens_per_second},
          {"generating_seconds", line.seconds.generating},
          {"draining_seconds", line.seconds.draining},
          {"training_seconds", line.seconds.training},
          {"publishing_seconds", line.seconds.publishing},
          {"left_seconds", line.seconds_left},
          {"loss", r.loss},
          {"grad_norm", r.grad_norm},
          {"learning_rate", r.learning_rate},
          {"clipped_fraction", r.clipped_fraction},
          {"kl_sampled", r.kl_sampled},
          {"kl_reference", r.kl_reference},
          {"mismatch_mean", r.mismatch_mean},
          {"mismatch_max", r.mismatch_max},
          {"drift_age_1", r.drift_means[0]},
          {"drift_age_2", r.drift_means[1]},
          {"drift_age_3", r.drift_means[2]},
          {"drift_older", r.drift_means[3]},
          {"rerouted_share", r.rerouted_share},
          {"unreplayed_rows", whole(r.num_unreplayed_rows)},
          {"policy_age_mean", r.policy_age_mean},
          {"policy_age_max", r.policy_age_max},
          {"undelivered_share", r.undelivered_share},
          {"was_skipped", whole(r.was_skipped ? 1 : 0)}};
}

Progress::Progress(std::uint64_t updates)
    : updates_(updates), is_terminal_(::isatty(STDOUT_FILENO) == 1) {}

UpdateLine Progress::update_done(std::uint64_t update, const UpdateReport& report,
                                 const coordinator::PhaseSeconds& seconds, std::uint64_t sampled_tokens) {
  const double spent = total(seconds);
  seconds_per_update_ = seconds_per_update_ == 0
                            ? spent
                            : (1 - kAverageWeight) * seconds_per_update_ + kAverageWeight * spent;
  UpdateLine line{update, updates_, report, seconds, 0, 0};
  if (spent > 0) line.tokens_per_second = static_cast<double>(sampled_tokens - sampled_before_) / spent;
  line.seconds_left = seconds_per_update_ * static_cast<double>(updates_ - std::min(update, updates_));
  sampled_before_ = sampled_tokens;
  print(to_text(line));
  return line;
}

void Progress::draw(std::uint64_t updates_done, const char* phase, double fraction) {
  if (!is_terminal_ || updates_ == 0) return;
  const double share = std::min(1.0, (static_cast<double>(updates_done) + fraction) / static_cast<double>(updates_));
  const int filled = static_cast<int>(share * kBarWidth);
  std::printf("\r\033[K[%s%s] %3.0f %%  %s", std::string(static_cast<std::size_t>(filled), '#').c_str(),
              std::string(static_cast<std::size_t>(kBarWidth - filled), '.').c_str(), 100 * share, phase);
  std::fflush(stdout);
  has_bar_ = true;
}

void Progress::print(const std::string& line) {
  clear_bar();
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void Progress::clear_bar() {
  if (!has_bar_) return;
  std::printf("\r\033[K");
  has_bar_ = false;
}
}  // namespace corisco::app
