// A step in order: schedule, run, take each drawn token, update.
#include "engine/batch_engine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "corisco/base/assert.h"
#include "corisco/base/strings.h"

namespace corisco::engine {
BatchEngine::BatchEngine(model::Decoder& decoder, const config::Engine& options, Limits limits,
                         std::vector<TokenId> end_ids, bool records_routing)
    : vocabulary_(decoder.config().vocab_size),
      live_max_(std::size_t{options.sequences_max} + options.queue_max),
      limits_(limits),
      end_ids_(std::move(end_ids)),
      pool_(limits.num_blocks, options.block_tokens),
      states_(limits.num_states),
      scheduler_({options.sequences_max, options.step_tokens_max, options.share_prefixes}, pool_,
                 limits.num_states > 0 ? &states_ : nullptr),
      runner_(decoder, std::int64_t{limits.num_blocks} * options.block_tokens, limits.num_states),
      routing_(records_routing ? static_cast<std::size_t>(decoder.config().experts_per_row()) : 0,
               options.block_tokens) {}

void BatchEngine::add(EngineRequest request) {
  CORISCO_ASSERT(!live_.contains(request.id), cat("request ", request.id, " added twice"));
  if (auto error = refusal(request)) {
    EngineDelta& delta = refused_.emplace_back();
    delta.id = request.id;
    delta.finish = FinishReason::aborted;
    delta.error = std::move(error);
    return;
  }
  totals_.num_prompt_tokens += request.prompt_ids.size();
  Live& live = live_[request.id];
  live.sampling = std::move(request.sampling);
  live.filter = std::move(request.filter);
  if (live.sampling.repetition_penalty != 1.0F) live.seen.add_prompt(request.prompt_ids);
  live.num_prompt_top = request.prompt_logprobs.value_or(0);
  scheduler_.add(request.id, request.queue_order, std::move(request.prompt_ids), request.prompt_logprobs.has_value());
}

std::optional<Error> BatchEngine::refusal(const EngineRequest& request) const {
  const auto& ids = request.prompt_ids;
  if (ids.empty()) return Error{Code::invalid_argument, "the prompt has no tokens"};
  if (ids.size() >= limits_.context_tokens_max)
    return Error{Code::invalid_argument,
                 cat("the prompt has ", ids.size(), " tokens; with at least one of the reply it must fit in ",
                     limits_.context_tokens_max, ": shorten it or raise engine.context_tokens_max")};
  for (const TokenId id : ids)
    if (id < 0 || id >= vocabulary_)
      return Error{Code::invalid_argument,
                   cat("token id ", id, " is outside the model's vocabulary of ", vocabulary_)};
  if (auto error = refused_sampling(request.sampling)) return error;
  // Who was added since the last step waits only until the next one: there may be slots for it.
  if (live_.size() >= live_max_)
    return Error{Code::overloaded, cat(live_.size(), " sequences run or wait already (engine.queue_max): try later")};
  return std::nullopt;
}

std::optional<Error> BatchEngine::refused_sampling(const SamplingParams& sampling) const {
  if (!(sampling.repetition_penalty > 0))
    return Error{Code::invalid_argument, cat("repetition_penalty is ", sampling.repetition_penalty,
                                             "; it must be above 0, and 1 is off")};
  for (const auto& [id, bias] : sampling.logit_bias)
    if (id < 0 || id >= vocabulary_ || !std::isfinite(bias))
      return Error{Code::invalid_argument,
                   cat("logit_bias: ", bias, " for token id ", id,
                       " is not finite or outside the model's vocabulary of ", vocabulary_)};
  return std::nullopt;
}

void BatchEngine::cancel(RequestId id) {
  scheduler_.cancel(id);
  live_.erase(id);
  std::erase_if(refused_, [id](const EngineDelta& delta) { return delta.id == id; });
}

bool BatchEngine::has_work() const { return !live_.empty() || !refused_.empty(); }

std::vector<EngineDelta> BatchEngine::step() {
  std::vector<EngineDelta> deltas = std::exchange(refused_, {});
  const ScheduledStep step = scheduler_.schedule();
  if (step.rows.empty()) return deltas;
  ++totals_.num_steps;
  StepInput input = make_step_input(step, pool_.block_tokens());
  ask_for_alternatives(step, input.scored_rows);
  routing_.watch(input.forward);
  auto result = runner_.run(std::move(input), draw_requests(step));
  if (!result.ok()) {
    for (auto& delta : fail(step, result.error())) deltas.push_back(std::move(delta));
    return deltas;
  }
  record_routing(step);
  take_scored(step, std::move(result.value().scored));
  std::vector<Draw> draws;
  auto drawn = result.value().drawn.begin();
  for (const auto& row : step.rows) {
    if (!row.draws) continue;
    EngineDelta delta = take(*row.sequence, std::move(*drawn++));
    draws.push_back({delta.tokens.empty() ? std::nullopt : std::optional(delta.tokens.front().id),
                     delta.finish.has_value()});
    if (delta.finish) live_.erase(delta.id);
    deltas.push_back(std::move(delta));
  }
  scheduler_.update(step, draws);
  return deltas;
}

std::vector<DrawRequest> BatchEngine::draw_requests(const ScheduledStep& step) {
  std::vector<DrawRequest> requests;
  for (const auto& row : step.rows) {
    if (!row.draws) continue;
    Live& live = live_.at(row.sequence->id);
    DrawRequest request{&live.sampling, live.num_drawn, &live.seen, end_ids_, {}};
    if (live.filter) {
      auto allowed = live.filter->allowed();
      if (allowed.ok()) request.allowed = allowed.value();
      else live.error = allowed.error();
    }
    requests.push_back(request);
  }
  return requests;
}

void BatchEngine::record_routing(const ScheduledStep& step) {
  routing_.keep();
  for (const auto& row : step.rows) {
    routing_.extend(live_.at(row.sequence->id).routed_experts, *row.sequence, row.first + row.num_tokens);
  }
}

void BatchEngine::ask_for_alternatives(const ScheduledStep& step, std::vector<ScoredRow>& rows) {
  auto scored = rows.begin();
  for (const auto& row : step.rows) {
    if (row.num_scored == 0) continue;
    const std::uint32_t num_top = live_.at(row.sequence->id).num_prompt_top;
    for (std::uint32_t i = 0; i < row.num_scored; ++i) (scored++)->num_top = num_top;
  }
}

// A prompt that lost its blocks before its first draw is computed from its beginning again, perhaps under newer
// weights: what was known of it counts no more.
void BatchEngine::take_scored(const ScheduledStep& step, std::vector<PromptLogprob> scored) {
  auto next = scored.begin();
  for (const auto& row : step.rows) {
    if (row.num_scored == 0) continue;
    Live& live = live_.at(row.sequence->id);
    if (row.first == 0) live.prompt_logprobs.clear();
    for (std::uint32_t i = 0; i < row.num_scored; ++i, ++next) {
      if (!live.error && !std::isfinite(next->logprob)) live.error = not_finite(row.first + i + 1);
      live.prompt_logprobs.push_back(std::move(*next));
    }
  }
}

Error BatchEngine::not_finite(std::uint32_t num_tokens) {
  ++totals_.num_nonfinite;
  return {Code::internal,
          cat("the model's logits after ", num_tokens, " tokens are not finite: its weights are damaged")};
}

std::optional<Error> BatchEngine::draw_error(const Sequence& sequence, const Live& live, const DrawnToken& drawn) {
  if (live.error) return live.error;
  if (!drawn.is_finite) return not_finite(sequence.num_tokens());
  if (!drawn.has_choice)
    return Error{Code::invalid_argument,
                 cat("no token may follow the ", live.num_drawn, " of the reply: what the request asks for ",
                     "(min_tokens, stop tokens, logit_bias, a grammar) leaves none")};
  return std::nullopt;
}

EngineDelta BatchEngine::take(const Sequence& sequence, DrawnToken drawn) {
  Live& live = live_.at(sequence.id);
  EngineDelta delta;
  delta.id = sequence.id;
  if (auto error = draw_error(sequence, live, drawn)) {
    delta.finish = FinishReason::aborted;
    delta.error = std::move(error);
    return delta;
  }
  if (live.num_drawn == 0) {
    delta.num_reused_prompt_tokens = sequence.num_reused;
    delta.prompt_logprobs = std::move(live.prompt_logprobs);
  }
  if (live.sampling.max_tokens == 0) {     // the draw is nobody's
    delta.finish = FinishReason::length;
    return delta;
  }
  ++live.num_drawn;
  ++totals_.num_sampled_tokens;
  if (has_penalties(live.sampling)) live.seen.add_drawn(drawn.id);
  delta.tokens.push_back({drawn.id, drawn.sampled_logprob, drawn.drawn_logprob, policy_version_});
  if (live.sampling.top_logprobs > 0) delta.top_logprobs.push_back(std::move(drawn.top));
  delta.finish = finish_of(sequence, live, drawn.id);
  if (delta.finish) delta.routed_experts = std::move(live.routed_experts);
  return delta;
}

// Called before the token joins the sequence.
std::optional<FinishReason> BatchEngine::finish_of(const Sequence& sequence, Live& live,
                                                   TokenId id) const {
  const auto& stop_ids = live.sampling.stop_ids;
  const bool is_end = !live.sampling.ignores_end && std::ranges::find(end_ids_, id) != end_ids_.end();
  if (is_end) return FinishReason::stop;
  if (std::ranges::find(stop_ids, id) != stop_ids.end()) return FinishReason::stop;
  if (live.filter && live.filter->accept(id)) return FinishReason::stop;
  const bool is_full = sequence.num_tokens() + 1 >= limits_.context_tokens_max;
  if (live.num_drawn >= live.sampling.max_tokens || is_full) return FinishReason::length;
  return std::nullopt;
}

// Ends every sequence of the step, since their cache rows are unknown. The others' are whole.
std::vector<EngineDelta> BatchEngine::fail(const ScheduledStep& step, const Error& error) {
  std::vector<EngineDelta> deltas;
  for (const auto& row : step.rows) {
    EngineDelta& delta = deltas.emplace_back();
    delta.id = row.sequence->id;
    delta.finish = FinishReason::aborted;
    delta.error = error;
  }
  for (const auto& delta : deltas) cancel(delta.id);
  return deltas;
}

void BatchEngine::set_policy_version(PolicyVersion version) {
  scheduler_.suspend_all();
  pool_.start_version(version);
  states_.forget_all();
  policy_version_ = version;
}

void BatchEngine::release_memory() {
  set_policy_version(policy_version_);     // nothing that was cached is there afterwards
  runner_.release_memory();
  routing_.release_memory();
}

EngineStats BatchEngine::stats() const {
  EngineStats stats = totals_;
  stats.num_waiting = scheduler_.num_waiting();
  stats.num_running = scheduler_.num_running();
  stats.num_reused_prompt_tokens = scheduler_.counts().num_reused_prompt_tokens;
  stats.num_recomputed_tokens = pool_.num_recomputed_tokens();
  stats.num_preempted = scheduler_.counts().num_preempted;
  stats.num_kv_blocks = pool_.num_blocks();
  stats.num_kv_blocks_used = pool_.num_used();
  return stats;
}
}  // namespace corisco::engine
