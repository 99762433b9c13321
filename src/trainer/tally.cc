#include "trainer/tally.h"

#include <algorithm>
#include <cmath>

namespace corisco::trainer {
namespace {
double mean(double sum, std::uint64_t count) { return count ? sum / static_cast<double>(count) : 0; }
}  // namespace

void Tally::add(const TrainedToken& token, double logprob, const TokenLoss& loss) {
  ++num_tokens_;
  loss_ += token.weight * loss.loss;
  kl_sampled_ += token.sampled_logprob - logprob;
  kl_reference_ += loss.kl_reference;
  if (token.advantage == 0) return;
  ++num_with_advantage_;
  if (loss.is_clipped) ++num_clipped_;
}

void Tally::add_mismatch(const TrainedToken& token, double logprob) {
  const double difference = std::abs(logprob - token.sampled_logprob);
  if (token.age > 0) {
    Drift& drift = drift_[std::min<std::uint64_t>(token.age, kDriftAges) - 1];
    ++drift.num_tokens;
    drift.sum += difference;
    return;
  }
  ++num_compared_;
  mismatch_ += difference;
  mismatch_max_ = std::max(mismatch_max_, difference);
}

void Tally::fill(UpdateReport& report) const {
  report.clipped_fraction = mean(static_cast<double>(num_clipped_), num_with_advantage_);
  report.kl_sampled = mean(kl_sampled_, num_tokens_);
  report.kl_reference = mean(kl_reference_, num_tokens_);
  report.mismatch_mean = mean(mismatch_, num_compared_);
  report.mismatch_max = mismatch_max_;
  for (std::size_t i = 0; i < kDriftAges; ++i) report.drift_means[i] = mean(drift_[i].sum, drift_[i].num_tokens);
  report.loss = loss_;
}
}  // namespace corisco::trainer
