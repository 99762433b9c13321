// The loss of one trained token and its derivative with respect to that token's log-probability.
// Pure, in double. The caller weighs tokens and feeds the derivative to the model's backward.
#pragma once

namespace corisco::trainer {
struct LossOptions {
  double clip_low = 0.2, clip_high = 0.28;
  double dual_clip = 3;  // 0: off
  double correction_cap = 2;
  double kl_coefficient = 0;  // 0: reference_logprob is not read
  // old_logprob was recomputed by the trainer, so tokens are corrected for the weights that
  // sampled them. False: old_logprob is the sampled one and the correction is exactly 1. Never both.
  bool is_corrected = false;
};

struct TokenInput {
  double logprob = 0;            // under the weights in training
  double old_logprob = 0;        // under the weights before the update
  double sampled_logprob = 0;    // recorded by the engine
  double reference_logprob = 0;  // under the initial weights
  double advantage = 0;
};

struct TokenLoss {
  double loss = 0;
  double gradient = 0;      // d loss / d logprob
  bool is_clipped = false;  // the clip, or the dual clip, decides the value
  double kl_reference = 0;  // k3, without its coefficient
};

//   r = exp(clamp(logprob - old_logprob, -20, 20))
//   p = max(-A r, -A clip(r, 1 - clip_low, 1 + clip_high))        (Schulman et al. 2017, eq. 7)
//   p = min(p, -A dual_clip) where A < 0                          (Ye et al. 2020, eq. 5)
//   w = min(exp(old_logprob - sampled_logprob), correction_cap)   a constant (Zheng et al. 2025)
//   k3 = exp(-d) + d - 1, d = logprob - reference_logprob         (Schulman 2020)
//   loss = w p + kl_coefficient k3
// Where the branches of max or min tie, the whole gradient passes. A log-probability that is not
// finite makes the gradient NaN, so that the update's finite check sees it.
TokenLoss token_loss(const TokenInput& token, const LossOptions& options);
}  // namespace corisco::trainer
