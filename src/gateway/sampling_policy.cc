#include "gateway/sampling_policy.h"

#include <algorithm>
#include <utility>

#include "corisco/base/random.h"

namespace corisco::gateway {
namespace {
// Keeps the keys of the kinds apart.
constexpr std::uint64_t kClientKey = 0x636c69656e74ULL;
constexpr std::uint64_t kFrozenKey = 0x66726f7a656eULL;
constexpr std::uint64_t kUnseededKey = 0x756e736565646564ULL;

void obey(const std::optional<double>& value, float& param) {
  if (value) param = static_cast<float>(*value);
}

void obey(const ClientSampling& client, SamplingParams& params) {
  obey(client.temperature, params.temperature);
  obey(client.top_p, params.top_p);
  obey(client.min_p, params.min_p);
  obey(client.repetition_penalty, params.repetition_penalty);
  obey(client.presence_penalty, params.presence_penalty);
  obey(client.frequency_penalty, params.frequency_penalty);
  params.top_k = client.top_k.value_or(params.top_k);
  params.min_tokens = client.min_tokens.value_or(params.min_tokens);
  params.ignores_end = client.ignores_end.value_or(params.ignores_end);
  params.logit_bias = client.logit_bias;
}

std::vector<const char*> present(const ClientSampling& client) {
  const std::pair<bool, const char*> fields[] = {
      {client.temperature.has_value(), "temperature"},
      {client.top_p.has_value(), "top_p"},
      {client.top_k.has_value(), "top_k"},
      {client.min_p.has_value(), "min_p"},
      {client.repetition_penalty.has_value(), "repetition_penalty"},
      {client.presence_penalty.has_value(), "presence_penalty"},
      {client.frequency_penalty.has_value(), "frequency_penalty"},
      {!client.logit_bias.empty(), "logit_bias"},
      {client.min_tokens.has_value(), "min_tokens"},
      {client.ignores_end.has_value(), "ignore_eos"},
      {client.seed.has_value(), "seed"}};
  std::vector<const char*> names;
  for (const auto& [is_present, name] : fields)
    if (is_present) names.push_back(name);
  return names;
}
}  // namespace

SamplingDecision decide_sampling(const config::Config& config, const AttemptOpening* opening,
                                 const ChatRequest& request) {
  SamplingDecision decision;
  auto& params = decision.params;
  params.stop_ids = request.stop_ids;
  params.stop_strings = request.stop_strings;
  params.top_logprobs = request.top_logprobs;
  const auto& run = config.sampling;
  if (opening != nullptr) {
    params.temperature = opening->mode == Mode::val ? config.evaluation.temperature : run.temperature;
    params.top_p = run.top_p;
    params.top_k = run.top_k;
    params.min_p = run.min_p;
    params.repetition_penalty = run.repetition_penalty;
    params.presence_penalty = run.presence_penalty;
    params.frequency_penalty = run.frequency_penalty;
  }
  const bool is_clients = opening == nullptr || (run.obey_client && opening->mode == Mode::train);
  if (is_clients) {
    obey(request.sampling, params);
    decision.uses_client_seed = request.sampling.seed.has_value();
  } else {
    decision.overridden = present(request.sampling);
  }
  if (params.temperature < kGreedyBelow) params.temperature = 0;  // said in one way in every record
  return decision;
}

std::uint64_t rollout_key(std::uint64_t run_seed, const AttemptOpening& opening,
                          std::span<const TokenId> prompt_ids, std::uint64_t nth_identical,
                          std::uint32_t choice) {
  return hash_words({run_seed, opening.task_occurrence, opening.sibling, hash_ids(prompt_ids),
                     nth_identical, choice, opening.salt});
}

std::uint64_t client_key(std::int64_t seed, std::span<const TokenId> prompt_ids, std::uint32_t choice) {
  return hash_words({kClientKey, static_cast<std::uint64_t>(seed), hash_ids(prompt_ids), choice});
}

std::uint64_t frozen_key(std::uint64_t rollout_key) { return hash_words({kFrozenKey, rollout_key}); }

std::uint64_t unseeded_key(std::uint64_t run_seed, std::uint64_t nth, std::uint32_t choice) {
  return hash_words({kUnseededKey, run_seed, nth, choice});
}

std::optional<std::uint32_t> reply_tokens_max(const config::Sampling& sampling, bool is_in_rollout,
                                              const ChatRequest& request, std::size_t prompt_tokens,
                                              std::uint32_t context_tokens_max) {
  if (prompt_tokens >= context_tokens_max) return std::nullopt;
  const auto left = static_cast<std::uint32_t>(context_tokens_max - prompt_tokens);
  const auto wanted = request.max_tokens.value_or(sampling.max_tokens);
  return std::min(left, is_in_rollout ? std::min(wanted, sampling.max_tokens) : wanted);
}
}  // namespace corisco::gateway
