// Sums over the trained tokens of an update, for its report. Owned by the update in progress.
#pragma once
#include <array>
#include <cstdint>

#include "trainer/assemble.h"
#include "trainer/loss.h"

namespace corisco::trainer {
class Tally {
 public:
  // Once per token and epoch, with the loss it contributed.
  void add(const TrainedToken& token, double logprob, const TokenLoss& loss);
  // Once per token, before the first optimizer step. Of tokens of older weights it is drift, told by their age.
  void add_mismatch(const TrainedToken& token, double logprob);
  // Means over all tokens added; the loss is the sum, over all epochs.
  void fill(UpdateReport& report) const;

 private:
  struct Drift {
    std::uint64_t num_tokens = 0;
    double sum = 0;
  };
  std::uint64_t num_tokens_ = 0, num_with_advantage_ = 0, num_clipped_ = 0, num_compared_ = 0;
  double loss_ = 0, kl_sampled_ = 0, kl_reference_ = 0, mismatch_ = 0, mismatch_max_ = 0;
  std::array<Drift, kDriftAges> drift_;
};
}  // namespace corisco::trainer
