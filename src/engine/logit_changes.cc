#include "engine/logit_changes.h"

#include <algorithm>
#include <limits>

namespace corisco::engine {
namespace {
constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr std::size_t kWordBits = 32;

bool is_before_min_tokens(const DrawRequest& request) { return request.position < request.sampling->min_tokens; }

// The repetition penalty is Keskar et al. 2019 (CTRL), section 4.1, with vLLM's rule for logits below 0.
void penalise(const SamplingParams& params, const SeenTokens& seen, std::span<float> logits) {
  for (const auto& [id, times] : seen.times_in_reply()) {
    float& logit = logits[static_cast<std::size_t>(id)];
    if (params.repetition_penalty != 1.0F)
      logit = logit > 0 ? logit / params.repetition_penalty : logit * params.repetition_penalty;
    if (times == 0) continue;
    logit -= params.frequency_penalty * static_cast<float>(times);
    logit -= params.presence_penalty;
  }
}

void mask(std::span<const TokenId> ids, std::span<float> logits) {
  for (const TokenId id : ids)
    if (id >= 0 && static_cast<std::size_t>(id) < logits.size()) logits[static_cast<std::size_t>(id)] = kNever;
}

void mask_all_but(std::span<const std::uint32_t> allowed, std::span<float> logits) {
  for (std::size_t word = 0; word * kWordBits < logits.size(); ++word) {
    const std::uint32_t bits = word < allowed.size() ? allowed[word] : 0;
    if (bits == ~std::uint32_t{0}) continue;
    const auto part = logits.subspan(word * kWordBits, std::min(kWordBits, logits.size() - word * kWordBits));
    for (std::size_t bit = 0; bit < part.size(); ++bit)
      if ((bits >> bit & 1U) == 0) part[bit] = kNever;
  }
}
}  // namespace

bool has_penalties(const SamplingParams& params) {
  return params.repetition_penalty != 1.0F || params.presence_penalty != 0.0F || params.frequency_penalty != 0.0F;
}

bool changes_logits(const DrawRequest& request) {
  return has_penalties(*request.sampling) || !request.sampling->logit_bias.empty() ||
         is_before_min_tokens(request) || !request.allowed.empty();
}

void change_logits(const DrawRequest& request, std::span<float> logits) {
  const auto& params = *request.sampling;
  if (has_penalties(params) && request.seen != nullptr) penalise(params, *request.seen, logits);
  for (const auto& [id, bias] : params.logit_bias) logits[static_cast<std::size_t>(id)] += bias;
  if (is_before_min_tokens(request)) {
    if (!params.ignores_end) mask(request.end_ids, logits);
    mask(params.stop_ids, logits);
  }
  if (!request.allowed.empty()) mask_all_but(request.allowed, logits);
}
}  // namespace corisco::engine
